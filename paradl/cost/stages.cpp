#include "paradl/cost/stages.hpp"

#include <algorithm>
#include <map>

#include "paradl/mesh/pipeline.hpp"

namespace paradl {
namespace {

bool same(const StageKind& a, const StageKind& b) {
  const auto equal_share = [](const auto& x, const auto& y) {
    return x.cell == y.cell && x.count == y.count;
  };
  const auto equal_sent = [](const Kept& x, const Kept& y) {
    return x.items == y.items && x.divided == y.divided;
  };
  return std::ranges::equal(a.cells, b.cells, equal_share) && std::ranges::equal(a.sent, b.sent, equal_sent);
}

}  // namespace

StagePlan plan_stages(const Layout& layout, const LayerTimes& times, int stages) {
  std::vector<double> weight;
  for (const LayerTime& t : times.layer) weight.push_back((t.FW + t.BW).base());
  StagePlan plan{.stages = stages, .kinds = {}, .first_layer = balanced_partition(weight, stages)};

  const int layers = int(layout.order.size());
  for (int s = 0; s < stages; ++s) {
    const int end = s + 1 < stages ? plan.first_layer[std::size_t(s) + 1] : layers;
    std::map<int, double> counts;
    for (int i = plan.first_layer[std::size_t(s)]; i < end; ++i) counts[layout.order[std::size_t(i)]] += 1;
    StageKind kind{.cells = {}, .sent = {}, .first = s, .count = 1};
    for (const auto& [cell, count] : counts) kind.cells.push_back({cell, count});
    if (end < layers) kind.sent = layout.crossing[std::size_t(end) - 1];
    const auto twin = std::ranges::find_if(plan.kinds, [&](const StageKind& k) { return same(k, kind); });
    if (twin == plan.kinds.end())
      plan.kinds.push_back(std::move(kind));
    else
      twin->count += 1;
  }
  return plan;
}

}  // namespace paradl
