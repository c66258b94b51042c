#include "paradl/spec/system_change.hpp"

#include <algorithm>

namespace paradl {
namespace {

/// Multiplies a value; false if it is zero, which a loaded system also has where the file has no value.
template <int S, int B, int F>
bool multiply(Quantity<S, B, F>& value, double factor) {
  value = factor * value;
  return value.base() > 0;
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

bool multiply_in_level(std::vector<LevelSpec>& levels, std::string_view path, double factor) {
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return false;
  const auto level = std::ranges::find(levels, path.substr(0, dot), &LevelSpec::name);
  if (level == levels.end()) return false;
  const std::string_view key = path.substr(dot + 1);
  if (key == "latency") return multiply(*level, &LevelSpec::latency, &MeasuredLinkSpec::latency, factor);
  if (key == "bandwidth")
    return multiply(*level, &LevelSpec::bandwidth, &MeasuredLinkSpec::bandwidth, factor);
  return false;  // sizes, ports and oversubscription have limits, which the reader checks
}

bool multiply_at(SystemSpec& system, std::string_view path, double factor) {
  constexpr std::string_view peak = "device.peak.", levels = "levels.";
  if (path == "device.memory") return multiply(system.device.memory, factor);
  if (path == "device.memory-bandwidth") return multiply(system.device.memory_bandwidth, factor);
  if (path == "host.bandwidth") return system.host && multiply(system.host->bandwidth, factor);
  if (path == "storage.node.read") return system.node_storage && multiply(system.node_storage->read, factor);
  if (path == "storage.shared.read")
    return system.shared_storage && multiply(system.shared_storage->read, factor);
  if (path.starts_with(levels)) return multiply_in_level(system.levels, path.substr(levels.size()), factor);
  if (!path.starts_with(peak)) return false;
  const auto precision = find_name<Precision>(precision_names, path.substr(peak.size()));
  return precision && multiply(system.device.peak[std::size_t(*precision)], factor);
}

}  // namespace

std::optional<SystemSpec> scaled(const SystemSpec& system, const Override& change) {
  const auto factor = factor_of(change);
  if (!factor) return {};
  SystemSpec out = system;
  if (!multiply_at(out, change.path, *factor)) return {};
  return out;
}

}  // namespace paradl
