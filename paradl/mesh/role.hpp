#pragma once
#include <cstdint>

#include "paradl/mesh/placement.hpp"

namespace paradl {

/// What a layer does on one axis of the mesh.
enum class Role : std::uint8_t {
  data,     // works on its samples
  spatial,  // works on its part of the extents
  filter,   // makes some output channels
  channel,  // takes some input channels
  expert,   // runs some of its experts
  keep,     // works position by position or channel by channel: takes what comes and leaves it so
  whole,    // everything on every PE
  stage,    // the pipeline axis: a layer is on one PE of it only
};

/// What a role asks and gives: the first table of the method.
struct RoleRow {
  Placement x_wanted, y_given;
  Placement dy_wanted, dx_given;
};

/// The row of a role; `incoming` is how x comes, which `keep` hands on.
RoleRow row_of(Role role, Placement incoming);

}  // namespace paradl
