#pragma once
#include <span>
#include <string>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// What might make something fit, by the largest parts of memory of the projection that needs least: "try
/// --micro-batches 8 --schedule 1f1b, or more GPUs: activations take 540 of 608 GiB (data+layer)". For
/// projections that no change of ways_to_fit() makes fit.
std::string fitting_hint(std::span<const Projection> projections, const Setting& setting);

/// If a projection fits, but leaves less than a twentieth of the device's memory: "only 0.3 % of the memory
/// is free, which may not be enough". Empty otherwise.
std::string margin_text(const Projection& projection);

/// The layers that run whole on every GPU of an axis: "fc (spatial)".
std::vector<std::string> whole_layers(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                                      const Workload& work);
/// The same as one short text: "fc6, fc7, fc8 (spatial); 97 layer-norm layers (tensor)".
std::string whole_layers_text(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                              const Workload& work);

}  // namespace paradl
