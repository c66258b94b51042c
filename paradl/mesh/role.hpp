#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/mesh/placement.hpp"

namespace paradl {

/// What a layer does on one axis of the mesh.
enum class Role : std::uint8_t {
  data,     // works on its samples
  spatial,  // works on its part of the extents
  filter,   // makes some output channels
  channel,  // takes some input channels
  expert,   // runs some of its experts
  keep,     // works position by position or channel by channel: its output is placed as its input
  whole,    // every GPU does everything
  stage,    // the pipeline axis: the layer is on one GPU of the axis only
};
inline constexpr std::array<std::string_view, 8> role_names{"data",   "spatial", "filter", "channel",
                                                            "expert", "keep",    "whole",  "stage"};
static_assert(names_every(Role::stage, role_names), "name every Role");

/// How a role wants its inputs placed and how it leaves its outputs: the first table of the method.
struct RoleRow {
  Placement x_wanted, y_given;
  Placement dy_wanted, dx_given;
};

/// The row of a role; `incoming` is the placement of x, which `keep` passes on.
RoleRow row_of(Role role, Placement incoming);

}  // namespace paradl
