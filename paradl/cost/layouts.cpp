#include "paradl/cost/layouts.hpp"

#include "paradl/cost/stages.hpp"

namespace paradl {

Layouts::Layouts(const Workload& work)
    : work_(work), blocks_(repeated_blocks(work)), fold_(find_fold(work, blocks_)) {
  if (fold_) short_ = folded(work, *fold_);
}

Layouts::AxisKey Layouts::key_of(const Axis& axis) {
  const auto& [total, cut] = axis.parts;
  return {axis.strategy, {total, cut[0], cut[1], cut[2]}, {}};
}

const Limit& Layouts::limit(const Axis& axis) const {
  return limits_.get(key_of(axis), [&] { return axis.strategy->limit(work_, axis.parts, 0); });
}

/// Everything about one axis that a layout depends on: the role of each layer, and whether its sequence is
/// long enough to be split.
int Layouts::signature_of(const AxisRoles& axis) const {
  const Workload& work = shortened();
  std::vector<std::uint8_t> bytes{std::uint8_t(axis.input), axis.pairs};
  bytes.reserve(2 + work.layers.size());
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    bytes.push_back(std::uint8_t(2 * int(axis.role[i]) + (work.layers[i].y.positions() >= axis.parts)));
  const std::lock_guard lock(signatures_mutex_);
  return signatures_.emplace(std::move(bytes), int(signatures_.size())).first->second;
}

const Layouts::AxisTable& Layouts::table(const Axis& axis, const PlacingRules& rules) const {
  AxisKey key = key_of(axis);
  key.rules = {int(rules.reduction), rules.sequence_parallel, rules.convolutions_only};
  return tables_.get(key, [&] {
    AxisRoles roles = roles_on(shortened(), axis, rules);
    const int signature = signature_of(roles);
    return AxisTable{std::move(roles), signature};
  });
}

Layout Layouts::placed(const Mesh& mesh, const PlacingRules& rules) const {
  // If only some blocks are recomputed, equal blocks are not placed the same way: do not fold.
  if (fold_ && rules.recomputed_blocks >= 0) return place(work_, mesh, rules);
  RoleTable roles;
  for (int a = 0; a < mesh.axes; ++a) roles.push_back(table(mesh.axis[std::size_t(a)], rules).roles);
  if (!fold_) return place(work_, roles, rules);
  std::optional<Layout> whole = unfolded(place(short_, roles, rules), *fold_);
  return whole ? *std::move(whole) : place(work_, mesh, rules);
}

const Layout& Layouts::of(const Mesh& mesh, const PlacingRules& rules) const {
  std::array<int, most_axes + 6> key;
  key.fill(-1);
  for (int a = 0; a < mesh.axes; ++a) key[std::size_t(a)] = table(mesh.axis[std::size_t(a)], rules).signature;
  std::size_t at = most_axes;
  for (const int rule : {int(rules.reduction), int(rules.sequence_parallel), int(rules.recompute),
                         rules.recomputed_blocks, int(rules.convolutions_only), int(rules.gathers_reduce)})
    key[at++] = rule;
  return *layouts_.get(key, [&] { return std::make_unique<Layout>(placed(mesh, rules)); });
}

}  // namespace paradl
