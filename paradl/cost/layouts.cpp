#include "paradl/cost/layouts.hpp"

#include "paradl/cost/stages.hpp"

namespace paradl {
namespace {

/// All that a layout may depend on of one axis: the role of each layer for every placement of its input, and
/// whether its sequence is long enough to be split. Equal lists mean equal layouts.
std::vector<Role> role_signature(const Workload& work, const Axis& axis) {
  std::vector<Role> out;
  for (int incoming = 0; incoming <= int(Placement::partial); ++incoming)
    for (std::size_t i = 0; i < work.layers.size(); ++i)
      out.push_back(axis.strategy->role(work, i, axis.parts, Placement(incoming)));
  for (const Layer& layer : work.layers)
    out.push_back(layer.y.positions() >= axis.parts.total ? Role::spatial : Role::whole);
  return out;
}

}  // namespace

int Layouts::signature_of(const Axis& axis) const {
  const std::pair roles{axis.strategy, role_signature(work_, axis)};
  const std::lock_guard lock(signatures_mutex_);
  return signatures_.emplace(roles, int(signatures_.size())).first->second;
}

const Layouts::AxisFacts& Layouts::facts(const Axis& axis) const {
  const auto& [total, cut] = axis.parts;
  return facts_.get({axis.strategy, {total, cut[0], cut[1], cut[2]}}, [&] {
    return AxisFacts{signature_of(axis), axis.strategy->limit(work_, axis.parts, 0)};
  });
}

const Layout& Layouts::of(const Mesh& mesh, const PlacingRules& rules) const {
  std::array<int, most_axes + 6> key;
  key.fill(-1);
  for (int a = 0; a < mesh.axes; ++a) key[std::size_t(a)] = facts(mesh.axis[std::size_t(a)]).signature;
  std::size_t at = most_axes;
  for (const int rule : {int(rules.reduction), int(rules.sequence_parallel), int(rules.recompute),
                         rules.recomputed_blocks, int(rules.convolutions_only), int(rules.gathers_reduce)})
    key[at++] = rule;
  return *layouts_.get(key, [&] { return std::make_unique<Layout>(place(work_, mesh, rules)); });
}

const std::vector<int>& Layouts::blocks() const {
  std::call_once(blocks_found_, [this] { blocks_ = repeated_blocks(work_); });
  return blocks_;
}

}  // namespace paradl
