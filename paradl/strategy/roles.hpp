#pragma once
#include <vector>

#include "paradl/mesh/mesh.hpp"
#include "paradl/mesh/role.hpp"
#include "paradl/strategy/rules.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// The roles of a network's layers on one axis of a mesh.
struct AxisRoles {
  Placement input = Placement::replicated;  // how each GPU reads the network's input
  bool pairs = false;  // splits heads and vocabulary; products come in pairs, and between pairs the sequence
                       // may be split
  int parts = 1;
  std::vector<Role> role;  // by layer
};

/// The table of roles, axis by layer: all that placing a network needs to know about strategies. Each layer
/// may have its own role on each axis.
using RoleTable = std::vector<AxisRoles>;

/// The roles that the strategy of an axis gives to layers.
AxisRoles roles_on(const Workload& work, const Axis& axis, const PlacingRules& rules);

/// The table that the strategies of a mesh fill.
RoleTable roles_of(const Workload& work, const Mesh& mesh, const PlacingRules& rules);

/// The placement of a layer's output on an axis after its sums. With sequence parallelism, a sum between
/// pairs of products is split by positions, if the layer has a sequence that is long enough.
Placement output_left(const Layer& layer, const AxisRoles& axis, const RoleRow& row,
                      const PlacingRules& rules);

/// The placement of a layer's input on an axis. If one of several inputs is split, it decides: whole inputs
/// can be sliced for free. `left` has the placements of the outputs of earlier layers.
Placement incoming(const Layer& layer, const AxisRoles& axis, const std::vector<Placement>& left);

}  // namespace paradl
