// Changes of the network.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/judge/changes/values.hpp"

namespace paradl::changes {

/// Twice the bandwidth of the level on which the most expensive exchange of a term spends most of its time.
Alternatives faster_links(const Evidence& e, Term term) {
  if (!e.system || !e.details) return {};
  const auto busiest = std::ranges::find(e.details->exchanges, term, &Charge::term);
  if (busiest == e.details->exchanges.end()) return {};
  const LevelTimes levels = level_times(*busiest, e.details->evaluation);
  const std::string_view level = std::ranges::max_element(levels, {}, &LevelTime::time)->level;
  return {system_change(fmt::format("twice the bandwidth of level {}", level),
                        {fmt::format("levels.{}.bandwidth", level), Factor{2}})};
}

/// Enough ports for each unit that its flows do not share one.
Alternatives ports_for_all_flows(const Evidence& e) {
  Alternatives out;
  if (!e.system || !e.details) return out;
  const auto& levels = e.system->levels;
  std::vector<std::string> done;
  for (const Charge& charge : e.details->exchanges) {
    if (!shares_links(charge, e.details->evaluation)) continue;
    for (const LevelTime& time : level_times(charge, e.details->evaluation)) {
      const Binding b = binding_of(time, charge, e.details->evaluation);
      if (b.unit.empty() || std::ranges::find(done, b.unit) != done.end()) continue;
      done.push_back(b.unit);
      const auto inner = std::ranges::find(levels, b.unit, &LevelSpec::name);
      const std::size_t k = inner == levels.end() ? 0 : std::size_t(inner - levels.begin()) + 1;
      if (k >= levels.size() || levels[k].oversubscription > 1) continue;
      out.push_back(system_change(fmt::format("{:g} ports per {} instead of {:g}: φ {:.3g} -> 1", b.enough,
                                              b.unit, b.ports, time.phi),
                                  {fmt::format("levels.{}.ports", levels[k].name), b.enough}));
    }
  }
  return out;
}

Alternatives full_network(const Evidence& e) {
  Alternatives out;
  if (!e.system) return out;
  const auto& levels = e.setting.machine.levels;
  for (std::size_t k = 2; k < levels.size() && e.projection.gpus > levels[k].inside; ++k)
    if (const LevelSpec& level = e.system->levels[k]; level.oversubscription > 1)
      out.push_back(system_change(
          fmt::format("no oversubscription between units of level {}", e.system->levels[k - 1].name),
          {fmt::format("levels.{}.oversubscription", level.name), 1.0}));
  return out;
}

}  // namespace paradl::changes
