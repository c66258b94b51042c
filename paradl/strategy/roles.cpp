#include "paradl/strategy/roles.hpp"

#include "paradl/mesh/exchange.hpp"
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

/// The role under a framework that splits only the channels of convolutions and runs all other layers whole.
Role convolutions_only(const Workload& work, std::size_t i, const Strategy& strategy, Role role) {
  const Layer& layer = work.layers[i];
  if (strategy.input != Placement::replicated || role == Role::stage) return role;
  if (layer.op != Op::conv) return Role::whole;
  // The first layer may have fewer channels than there are GPUs: some get none, but all take part in the sum.
  return strategy.sums_inputs && is_dense_product(layer) && layer.first() ? Role::channel : role;
}

}  // namespace

Placement output_left(const Layer& layer, const AxisRoles& axis, const RoleRow& row,
                      const PlacingRules& rules) {
  if (row.y_given != Placement::partial) return row.y_given;
  const bool scattered =
      rules.sequence_parallel && axis.pairs && layer.y.dims == 1 && layer.y.positions() >= axis.parts;
  return scattered ? Placement::split_space : reduced(rules.reduction);
}

Placement incoming(const Layer& layer, const AxisRoles& axis, const std::vector<Placement>& left) {
  Placement out = Placement::replicated;
  for (const int from : layer.inputs) {
    const Placement here = from < 0 ? axis.input : left[std::size_t(from)];
    if (is_split(here)) out = here;
  }
  return out;
}

AxisRoles roles_on(const Workload& work, const Axis& axis, const PlacingRules& rules) {
  const Strategy& strategy = *axis.strategy;
  AxisRoles out{.input = strategy.input, .pairs = strategy.pairs, .parts = axis.parts.total, .role = {}};
  std::vector<Placement> left;
  out.role.reserve(work.layers.size()), left.reserve(work.layers.size());
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    const Placement in = incoming(work.layers[i], out, left);
    Role role = strategy.role(work, i, axis.parts, in);
    if (rules.convolutions_only) role = convolutions_only(work, i, strategy, role);
    out.role.push_back(role);
    left.push_back(output_left(work.layers[i], out, row_of(role, in), rules));
  }
  return out;
}

RoleTable roles_of(const Workload& work, const Mesh& mesh, const PlacingRules& rules) {
  RoleTable out;
  for (int a = 0; a < mesh.axes; ++a) out.push_back(roles_on(work, mesh.axis[std::size_t(a)], rules));
  return out;
}

}  // namespace paradl
