#pragma once
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "paradl/spec/model_spec.hpp"

namespace paradl {

/// "3x224x$size" -> {3, 224, size}. Throws ExpressionError.
std::vector<std::int64_t> read_sizes(std::string_view text, const Parameters& parameters);

/// The flat list of a model file's layers: blocks inserted, repetitions expanded, `from` names resolved.
std::vector<LayerSpec> lay_out(const YAML::Node& layers, const YAML::Node& blocks,
                               const Parameters& parameters, Problems& problems);

}  // namespace paradl
