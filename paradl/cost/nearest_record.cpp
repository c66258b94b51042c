#include "paradl/cost/nearest_record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/kernel_errors.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {

const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus) {
  if (strategy.find('/') != strategy.npos) return nullptr;
  // `serial` is data=1.
  const std::string own = strategy == serial_name ? std::string(outer_strategy().name) : strategy;
  for (const std::string& name : {own, std::string(any_strategy)}) {
    const auto found = std::ranges::find_if(errors, [&](const RecordedError& e) {
      return e.level == level && e.strategy == name && e.from <= gpus && gpus < e.below;
    });
    if (found != errors.end()) return &*found;
  }
  return nullptr;
}

RecordedError widened(RecordedError error, const Uncertainty& by) {
  error.low = std::exp(-std::hypot(std::log(error.low), std::log(by.low)));
  error.high = std::exp(std::hypot(std::log(error.high), std::log(by.high)));
  return error;
}

Uncertainty kernel_uncertainty(const ParameterLevel& level, double layer_error) {
  if (level.layers == LayerSource::ideal) return {.low = 1, .high = 1 + data_sheet_errors.most};
  return {.low = 1 - layer_error, .high = 1 + layer_error};
}

namespace {

/// How a recorded level differs from the requested one, most important difference first, so that distances
/// are compared lexicographically.
struct Distance {
  bool networks, links;
  int layers;
  bool framework, device, precision;
  friend auto operator<=>(const Distance&, const Distance&) = default;
  /// A framework does not count, because its layer times are those of `ideal`.
  bool elsewhere() const { return networks || links || layers > 0 || device || precision; }
};

/// Nothing if runs of that level say nothing about the requested one.
std::optional<Distance> distance(const ParameterLevel& asked, const ParameterLevel& there) {
  const Distance out{.networks = asked.networks != there.networks,
                     .links = asked.links != there.links,
                     .layers = std::abs(int(asked.layers) - int(there.layers)),
                     .framework = asked.framework != there.framework,
                     .device = asked.device != there.device,
                     .precision = asked.precision != there.precision};
  const bool only_one_ideal = (asked.layers == LayerSource::ideal) != (there.layers == LayerSource::ideal);
  if (asked.fidelity != there.fidelity || only_one_ideal ||
      (out.links && there.links == LinkLevel::measured) || (out.framework && !is_ideal(there.framework)))
    return {};
  return out;
}

}  // namespace

std::vector<RecordedError> nearest_recorded(const std::vector<RecordedError>& errors,
                                            const ParameterLevel& level, double layer_error) {
  const ParameterLevel* nearest = nullptr;
  Distance least{};
  for (const RecordedError& e : errors)
    if (const auto found = distance(level, e.level); found && (!nearest || *found < least))
      nearest = &e.level, least = *found;
  std::vector<RecordedError> out;
  if (!nearest) return out;
  std::ranges::copy_if(errors, std::back_inserter(out),
                       [&](const RecordedError& e) { return e.level == *nearest; });
  if (least.elsewhere() || !level.changed.empty())
    for (RecordedError& e : out) e = widened(std::move(e), kernel_uncertainty(level, layer_error));
  return out;
}

}  // namespace paradl
