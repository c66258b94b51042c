// The list of limits and bottlenecks. Triggers without a source are our choice.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"

namespace paradl {

extern const Entry gradient_exchange_entry;
extern const Entry layer_collectives_entry;
extern const Entry point_to_point_entry;
extern const Entry congestion_entry;
extern const Entry self_contention_entry;
extern const Entry input_output_entry;
extern const Entry memory_redundancy_entry;
extern const Entry fragmentation_entry;
extern const Entry weight_update_entry;
extern const Entry workload_balance_entry;
extern const Entry computation_redundancy_entry;
extern const Entry number_of_pes_entry;
extern const Entry batch_norm_quality_entry;
extern const Entry gpu_occupancy_entry;

namespace {

/// By BottleneckKind.
constexpr std::array entries{
    &gradient_exchange_entry,
    &layer_collectives_entry,
    &point_to_point_entry,
    &congestion_entry,
    &self_contention_entry,
    &input_output_entry,
    &memory_redundancy_entry,
    &fragmentation_entry,
    &weight_update_entry,
    &workload_balance_entry,
    &computation_redundancy_entry,
    &number_of_pes_entry,
    &batch_norm_quality_entry,
    &gpu_occupancy_entry};
static_assert(entries.size() == bottleneck_kinds, "an entry for each BottleneckKind");

}  // namespace

const Entry& entry(BottleneckKind kind) { return *entries[std::size_t(kind)]; }

std::span<const Measure> measures() {
  static const std::vector<Measure> all = [] {
    std::vector<Measure> out;
    for (const Entry* one : entries) out.insert(out.end(), one->measures.begin(), one->measures.end());
    return out;
  }();
  return all;
}

const Measure* find_measure(std::string_view key) {
  const auto found = std::ranges::find(measures(), key, &Measure::key);
  return found == measures().end() ? nullptr : &*found;
}

std::string value_text(const Measure& measure, double value) {
  switch (measure.reads) {
    case Reads::share:
      return percent(value);
    case Reads::ratio:
      return three_digits(value);
    case Reads::count:
      return count(value);
  }
  return {};
}

std::string trigger_text(const Measure& measure, double trigger) {
  constexpr std::array<std::string_view, 3> signs{">", ">=", "<="};
  static_assert(names_every(Sense::at_most, signs), "a sign for each Sense");
  return fmt::format(
      "{} {}", signs[std::size_t(measure.sense)],
      measure.reads == Reads::ratio ? fmt::format("{:g}", trigger) : value_text(measure, trigger));
}

}  // namespace paradl
