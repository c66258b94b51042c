#include "paradl/judge/sensitivity.hpp"

#include <algorithm>
#include <limits>

#include "paradl/strategy/table.hpp"

namespace paradl {

std::vector<Swing> sensitivity(const Levers& all, const Projection& now, const BestOn& best_on) {
  const auto times = [&](const Lever& lever, double factor) -> std::optional<BestPlan> {
    try {
      const Override change{lever.path, Factor{factor}};
      const std::optional<Projection> best = best_on(change);
      BestPlan out{text_of({change}), best.has_value()};
      if (!best) return out;
      out.strategy = best->strategy();
      out.grid = grid_text(best->plan.mesh, true);
      out.mesh = best->plan.mesh;
      out.epoch = best->epoch();
      out.gain = 1 - best->epoch() / now.epoch();
      return out;
    } catch (const UsageError&) {
      return {};
    }
  };
  std::vector<Swing> out;
  for (const Lever& lever : all) {
    Swing swing{lever, times(lever, 0.5), times(lever, 2)};
    double low = 0, high = 0;
    bool fits = true;
    for (const auto& outcome : {swing.half, swing.twice}) {
      if (!outcome) continue;
      fits &= outcome->fits;
      low = std::min(low, outcome->gain);
      high = std::max(high, outcome->gain);
    }
    // If no plan fits, there is no epoch: the largest possible effect.
    swing.size = fits ? high - low : std::numeric_limits<double>::infinity();
    out.push_back(std::move(swing));
  }
  std::ranges::stable_sort(out, std::greater{}, &Swing::size);
  return out;
}

}  // namespace paradl
