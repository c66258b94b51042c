#include "paradl/judge/sensitivity.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "paradl/strategy/table.hpp"

namespace paradl {

std::vector<Lever> levers(const SystemSpec& system, Precision precision) {
  std::vector<Lever> out;
  const std::string name(precision_names[std::size_t(precision)]);
  if (system.device.peak[std::size_t(precision)])
    out.push_back({fmt::format("flop/s of a GPU ({})", name), "device.peak." + name});
  out.push_back({"memory bandwidth of a GPU", "device.memory-bandwidth"});
  out.push_back({"memory of a GPU", "device.memory"});
  for (std::size_t k = 0; k < system.levels.size(); ++k) {
    const LevelSpec& level = system.levels[k];
    const std::string path = "levels." + level.name;
    const std::string unit = k == 0 ? "GPU" : system.levels[k - 1].name;
    if (k == 0) out.push_back({fmt::format("GPUs per {}", level.name), path + ".size"});
    out.push_back({fmt::format("bandwidth of level {}", level.name), path + ".bandwidth"});
    out.push_back({fmt::format("latency of level {}", level.name), path + ".latency", true});
    if (level.ports) out.push_back({fmt::format("ports per {}", unit), path + ".ports"});
    if (level.oversubscription > 1)
      out.push_back(
          {fmt::format("oversubscription of level {}", level.name), path + ".oversubscription", true});
  }
  if (system.host && system.host->bandwidth)
    out.push_back({"bandwidth between GPU and host", "host.bandwidth"});
  if (system.node_storage && system.node_storage->read)
    out.push_back({"read rate of node storage", "storage.node.read"});
  if (system.shared_storage && system.shared_storage->read)
    out.push_back({"read rate of shared storage", "storage.shared.read"});
  return out;
}

std::vector<Swing> sensitivity(const std::vector<Lever>& all, const Projection& now, const BestOn& best_on) {
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
