#include "paradl/spec/system_change.hpp"

#include <algorithm>
#include <cmath>

#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// Multiplies a value; false if a file could not have the result, or if it is zero, which a loaded system
/// also has where the file has no value.
template <int S, int B, int F>
bool multiply(Quantity<S, B, F>& value, double factor) {
  value = factor * value;
  return value.base() > 0 && plausible<Quantity<S, B, F>>().holds(value.base());
}
template <class T>
bool multiply(std::optional<T>& value, double factor) {
  return value && multiply(*value, factor);
}

/// A link's latency or bandwidth, with what was measured of it.
template <class T>
bool multiply(LevelSpec& level, T LevelSpec::*value, T MeasuredLinkSpec::*measured, double factor) {
  return multiply(level.*value, factor) && std::ranges::all_of(level.measured, [&](MeasuredLinkSpec& link) {
           return multiply(link.*measured, factor);
         });
}

/// A number without a unit, within the limits of a file.
bool change(double& value, const Override& to, Range limits) {
  const double* number = std::get_if<double>(&to.value);
  if (!number && !to.factor()) return false;
  value = number ? *number : to.factor()->times * value;
  return limits.holds(value);
}

bool resize(SystemSpec& system, LevelSpec& level, double factor) {
  // Links that were measured on certain groups must fit the sizes: the reader checks them.
  const auto of_group = [](const MeasuredLinkSpec& link) { return link.group.gpus != 0; };
  for (const LevelSpec& other : system.levels)
    if (std::ranges::any_of(other.measured, of_group)) return false;
  const double size = factor * level.size;
  if (size < 1 || size > most_gpus || size != std::floor(size)) return false;
  level.size = int(size);
  double gpus = 1;
  for (const LevelSpec& each : system.levels) gpus *= each.size;
  return gpus <= most_gpus;
}

bool change_level(SystemSpec& system, std::string_view path, const Override& to) {
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return false;
  const auto level = std::ranges::find(system.levels, path.substr(0, dot), &LevelSpec::name);
  if (level == system.levels.end()) return false;
  const std::string_view key = path.substr(dot + 1);
  // A level with ports has no oversubscription, and the other way round.
  if (key == "ports") return level->ports && change(*level->ports, to, port_limits);
  if (key == "oversubscription")
    return level->oversubscription > 1 && change(level->oversubscription, to, oversubscription_limits);
  if (!to.factor()) return false;
  const double factor = to.factor()->times;
  if (key == "size") return resize(system, *level, factor);
  if (key == "latency") return multiply(*level, &LevelSpec::latency, &MeasuredLinkSpec::latency, factor);
  if (key == "bandwidth")
    return multiply(*level, &LevelSpec::bandwidth, &MeasuredLinkSpec::bandwidth, factor);
  return false;
}

bool multiply_at(SystemSpec& system, std::string_view path, double factor) {
  constexpr std::string_view peak = "device.peak.";
  if (path == "device.memory") return multiply(system.device.memory, factor);
  if (path == "device.memory-bandwidth") return multiply(system.device.memory_bandwidth, factor);
  if (path == "host.bandwidth") return system.host && multiply(system.host->bandwidth, factor);
  if (path == "storage.node.read") return system.node_storage && multiply(system.node_storage->read, factor);
  if (path == "storage.shared.read")
    return system.shared_storage && multiply(system.shared_storage->read, factor);
  if (!path.starts_with(peak)) return false;
  const auto precision = find_name<Precision>(precision_names, path.substr(peak.size()));
  return precision && multiply(system.device.peak[std::size_t(*precision)], factor);
}

}  // namespace

std::optional<SystemSpec> changed(const SystemSpec& system, const Override& change) {
  constexpr std::string_view levels = "levels.";
  const std::string_view path = change.path;
  SystemSpec out = system;
  const bool done = path.starts_with(levels)
                        ? change_level(out, path.substr(levels.size()), change)
                        : change.factor() && multiply_at(out, path, change.factor()->times);
  if (!done) return {};
  return out;
}

SystemSpec read_specified(const SourceText& source, const std::vector<Override>& overrides) {
  const YAML::Node root = parse_yaml(source);
  for (YAML::Node level : root["levels"]) level.remove("measured");
  SystemSpec out = read_system({source.file, YAML::Dump(root)}, overrides);
  out.source = source;
  return out;
}

}  // namespace paradl
