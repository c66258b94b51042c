#pragma once
#include <vector>

#include "paradl/mesh/mesh.hpp"
#include "paradl/mesh/role.hpp"
#include "paradl/strategy/rules.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// What the layers of a network do on one axis of a mesh.
struct AxisRoles {
  Placement input = Placement::replicated;  // how each GPU reads the network's input
  bool pairs = false;  // products in pairs, between which the sequence may be split; heads and words are split
  int parts = 1;
  std::vector<Role> role;  // by layer
};

/// The table of roles, axis by layer: all that placing a network needs to know of strategies. Each layer may
/// have its own role on each axis.
using RoleTable = std::vector<AxisRoles>;

/// The roles that the strategy of an axis gives to layers.
AxisRoles roles_on(const Workload& work, const Axis& axis, const PlacingRules& rules);

/// The table that the strategies of a mesh fill.
RoleTable roles_of(const Workload& work, const Mesh& mesh, const PlacingRules& rules);

/// How the output of a layer is placed on an axis once sums have been made: over positions where the sequence is
/// split between pairs of products, which a layer without a sequence cannot be.
Placement output_left(const Layer& layer, const AxisRoles& axis, const RoleRow& row, const PlacingRules& rules);

/// How the input of a layer comes on an axis. Of several inputs the one that is split decides: what is whole can
/// be sliced for nothing. `left` is how outputs of earlier layers are placed.
Placement incoming(const Layer& layer, const AxisRoles& axis, const std::vector<Placement>& left);

}  // namespace paradl
