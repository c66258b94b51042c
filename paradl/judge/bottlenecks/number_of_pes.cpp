// Number of PEs: more GPUs than there are parts to split.
#include <fmt/format.h>

#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"
#include "paradl/judge/reason.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  std::optional<Reading> out;
  for (const Limit& limit : e.projection.limits.all()) {
    if (limit.relation() != Relation::at_most || !(limit.bound > 0)) continue;
    const double ratio = limit.value / limit.bound;
    if (out && ratio <= out->value) continue;
    const std::string layer = limit.layer >= 0 ? e.setting.work.layers[std::size_t(limit.layer)].name : "";
    out = {ratio, 0, layer.empty() ? std::string(limit.name()) : layer,
           limit.holds() ? fmt::format("{}: {:g} of {:g} are used", limit.name(), limit.value, limit.bound)
                         : reason(limit, e.setting.work)};
  }
  return out;
}

constexpr std::array own_measures{
    Measure{BottleneckKind::number_of_pes, "number-of-pes",
            "parts of an axis / samples, channels, extents or layers to split",
            Reads::ratio, Sense::above, 1, 0, 1e6, false, read}};

constexpr std::array remedies{
    ChangeKind::larger_batch, ChangeKind::data_between_nodes, ChangeKind::more_data};

}  // namespace

extern constinit const Entry number_of_pes_entry{
    .name = "number_of_pes",
    .title = "number of PEs",
    .nature = Nature::limit,
    .meaning = "there are more GPUs than samples, channels, extents or layers to split",
    .measures = own_measures,
    .remedies = remedies,
    .worth = Worth::always,
    .has_time = false};

}  // namespace paradl
