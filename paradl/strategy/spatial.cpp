// Spatial parallelism: every GPU works on a part of each sample's extents and exchanges halos with its
// neighbours.
#include <algorithm>
#include <optional>

#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

/// Layers with a window can be cut in space, and so can a matrix product at every position.
bool can_cut(const Workload& work, std::size_t i) {
  const Layer& layer = work.layers[i];
  return work.may_split(SplitBy::spatial, i) && layer.x.dims > 0 &&
         (traits(layer.op).window || layer.op == Op::fc);
}

bool fits(const Layer& layer, const Parts& parts) {
  for (std::size_t d = 0; d < 3; ++d)
    if (std::min(layer.x.extent[d], layer.y.extent[d]) < parts.cut[d]) return false;
  return true;
}

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement) {
  const Layer& layer = work.layers[i];
  if (can_cut(work, i)) return fits(layer, parts) ? Role::spatial : Role::whole;
  return traits(layer.op).per_position && layer.x.dims > 0 ? Role::keep : Role::whole;
}

/// The limit of the extent that is shortest relative to its number of parts.
Limit limit(const Workload& work, const Parts& parts, double) {
  using enum LimitRule;
  static constexpr LimitRule rules[3][3] = {{positions}, {rows, columns}, {planes, rows, columns}};
  std::optional<Limit> worst;
  for (std::size_t d = 0; d < 3; ++d) {
    if (parts.cut[d] == 1) continue;
    const int dims = std::max(1, work.input.dims);
    const auto counts = [&](std::size_t i) { return can_cut(work, i); };
    const auto extent = [d](const Layer& l) { return std::min(l.x.extent[d], l.y.extent[d]); };
    const Limit one = tightest(rules[dims - 1][d], parts.cut[d], work, counts, extent);
    if (!worst || one.bound / one.value < worst->bound / worst->value) worst = one;
  }
  return worst.value_or(Limit{.rule = extents, .value = 1, .bound = 1});
}

}  // namespace

extern constinit const Strategy spatial_strategy{
    "spatial", "split the extents of every sample; exchange halos", Placement::split_space, role, limit};

}  // namespace paradl
