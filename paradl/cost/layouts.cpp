#include "paradl/cost/layouts.hpp"

#include "paradl/cost/stages.hpp"

namespace paradl {

const Layouts::AxisFacts& Layouts::facts(const Axis& axis) {
  const auto& [total, cut] = axis.parts;
  const std::pair key{axis.strategy, std::array{total, cut[0], cut[1], cut[2]}};
  if (const auto known = facts_.find(key); known != facts_.end()) return known->second;
  const auto roles = std::pair{axis.strategy, roles_of(work_, *axis.strategy, axis.parts)};
  const int signature = signatures_.emplace(roles, int(signatures_.size())).first->second;
  const Limit limit = axis.strategy->limit(work_, axis.parts, 0);
  return facts_.emplace(key, AxisFacts{signature, limit}).first->second;
}

const Layout& Layouts::of(const Mesh& mesh, const PlacingRules& rules) {
  std::array<int, most_axes> roles;
  roles.fill(-1);
  for (int a = 0; a < mesh.axes; ++a) roles[std::size_t(a)] = facts(mesh.axis[std::size_t(a)]).signature;
  auto& entry = layouts_[{roles, rules}];
  if (!entry) entry = std::make_unique<Layout>(place(work_, mesh, rules));
  return *entry;
}

const std::vector<int>& Layouts::blocks() {
  if (!blocks_) blocks_ = repeated_blocks(work_);
  return *blocks_;
}

}  // namespace paradl
