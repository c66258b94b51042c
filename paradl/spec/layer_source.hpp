#pragma once
#include <array>
#include <string_view>

#include "paradl/core/names.hpp"

namespace paradl {

/// Where layer times come from. Neighbours have similar errors, except that peak rates (`ideal`) differ from
/// all others.
enum class LayerSource { model_file, profile, modelled, ideal };
inline constexpr std::array<std::string_view, 4> layer_source_names{"model file", "profile", "modelled",
                                                                    "ideal"};
static_assert(names_every(LayerSource::ideal, layer_source_names), "name every LayerSource");

}  // namespace paradl
