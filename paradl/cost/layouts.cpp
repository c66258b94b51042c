#include "paradl/cost/layouts.hpp"

#include "paradl/cost/stages.hpp"

namespace paradl {
namespace {

/// The rules that roles depend on. Others are cleared, so that plans that differ only in these share a table.
PlacingRules rules_of_roles(PlacingRules rules) {
  rules.recompute = Recompute::none, rules.recomputed_blocks = -1;
  rules.gathers_reduce = false;
  return rules;
}

}  // namespace

Layouts::Layouts(Shared<Workload> work)
    : owner_(std::move(work)), blocks_(repeated_blocks(work_)), fold_(find_fold(work_, blocks_)) {
  if (fold_) short_ = folded(work_, *fold_);
}

std::size_t Layouts::Hash::operator()(const RolesKey& key) const {
  return BytesHash{}(key.axis) + key.rules.sequence_parallel;
}

std::size_t Layouts::Hash::operator()(const LayoutKey& key) const {
  const std::array<int, 3> rules{key.rules.sequence_parallel, int(key.rules.recompute),
                                 key.rules.recomputed_blocks};
  return BytesHash{}(key.signatures) ^ BytesHash {}(rules);
}

const Limit& Layouts::limit(const Axis& axis) const {
  return limits_.get(axis, [&] { return axis.strategy->limit(work_, axis.parts, 0); });
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
  return tables_.get({axis, rules_of_roles(rules)}, [&] {
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
  LayoutKey key{.signatures = {}, .rules = rules};
  key.signatures.fill(-1);
  for (int a = 0; a < mesh.axes; ++a)
    key.signatures[std::size_t(a)] = table(mesh.axis[std::size_t(a)], rules).signature;
  return *layouts_.get(key, [&] { return std::make_unique<Layout>(placed(mesh, rules)); });
}

}  // namespace paradl
