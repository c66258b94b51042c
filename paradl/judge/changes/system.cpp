// Changes of the system: its devices, links and rates.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/judge/changes/values.hpp"

namespace paradl::changes {

Lever bandwidth_of(std::string_view level) {
  return {fmt::format("bandwidth of level {}", level), fmt::format("levels.{}.bandwidth", level)};
}

Lever ports_of(const SystemSpec& system, std::size_t level) {
  const std::string unit = level == 0 ? "GPU" : system.levels[level - 1].name;
  return {fmt::format("ports per {}", unit), fmt::format("levels.{}.ports", system.levels[level].name)};
}

Lever read_rate_of(std::string_view storage) {
  return {fmt::format("read rate of {} storage", storage), fmt::format("storage.{}.read", storage)};
}

Alternative improved(const Lever& lever) {
  return system_change(fmt::format("{} the {}", lever.less_is_better ? "half" : "twice", lever.name),
                       {lever.path, Factor{lever.less_is_better ? 0.5 : 2}});
}

Levers peak_lever(const SystemSpec& system, Precision precision) {
  if (!system.device.peak[std::size_t(precision)]) return {};
  const std::string_view name = precision_names[std::size_t(precision)];
  return {{fmt::format("flop/s of a GPU ({})", name), fmt::format("device.peak.{}", name)}};
}

Levers size_lever(const SystemSpec& system, Precision) {
  if (system.levels.empty()) return {};
  const std::string& node = system.levels.front().name;
  return {{fmt::format("GPUs per {}", node), fmt::format("levels.{}.size", node)}};
}

Levers bandwidth_levers(const SystemSpec& system, Precision) {
  Levers out;
  for (const LevelSpec& level : system.levels) out.push_back(bandwidth_of(level.name));
  return out;
}

Levers latency_levers(const SystemSpec& system, Precision) {
  Levers out;
  for (const LevelSpec& level : system.levels)
    out.push_back(
        {fmt::format("latency of level {}", level.name), fmt::format("levels.{}.latency", level.name), true});
  return out;
}

Levers port_levers(const SystemSpec& system, Precision) {
  Levers out;
  for (std::size_t k = 0; k < system.levels.size(); ++k)
    if (system.levels[k].ports) out.push_back(ports_of(system, k));
  return out;
}

Levers oversubscription_levers(const SystemSpec& system, Precision) {
  Levers out;
  for (const LevelSpec& level : system.levels)
    if (level.oversubscription > 1)
      out.push_back({fmt::format("oversubscription of level {}", level.name),
                     fmt::format("levels.{}.oversubscription", level.name), true});
  return out;
}

Levers host_lever(const SystemSpec& system, Precision) {
  if (!system.host || !system.host->bandwidth) return {};
  return {{"bandwidth between GPU and host", "host.bandwidth"}};
}

Levers storage_levers(const SystemSpec& system, Precision) {
  Levers out;
  if (system.node_storage && system.node_storage->read) out.push_back(read_rate_of("node"));
  if (system.shared_storage && system.shared_storage->read) out.push_back(read_rate_of("shared"));
  return out;
}

/// Twice the bandwidth of the level on which the most expensive exchange of a term spends most of its time.
Alternatives faster_links(const Evidence& e, Term term) {
  if (!e.system || !e.details) return {};
  const auto busiest = std::ranges::find(e.details->exchanges, term, &Charge::term);
  if (busiest == e.details->exchanges.end()) return {};
  const LevelTimes levels = level_times(*busiest, e.details->evaluation);
  const std::string_view level = std::ranges::max_element(levels, {}, &LevelTime::time)->level;
  return {improved(bandwidth_of(level))};
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
