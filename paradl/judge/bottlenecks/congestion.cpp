// Network congestion: oversubscribed levels, and other jobs.
// Trigger from the ParaDL report: congestion from 512 GPUs on.
#include <fmt/format.h>

#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read_taper(const Evidence& e) {
  if (!e.projection.cost) return {};
  const auto& levels = e.setting.machine.levels;
  std::optional<Reading> out;
  // Sharing the ports of a node is self-contention; oversubscription is about the levels above it.
  for (std::size_t k = 2; k < levels.size() && e.projection.gpus > levels[k].inside; ++k) {
    const double below = levels[k - 1].ports * levels[k - 1].gpus / levels[k - 1].inside;
    const double taper = below / levels[k].ports;
    if (out && taper <= out->value) continue;
    const double share = share_of(e, e.projection.cost->exposed_communication());
    out = {taper, share, fmt::format("{} to {}", levels[k - 1].name, levels[k].name),
           fmt::format(
               "{} GPUs use several units of level {}, each with {:.3g} ports to the next level instead of "
               "{:.3g}",
               e.projection.gpus, levels[k - 1].name, levels[k].ports, below)};
  }
  return out;
}

std::optional<Reading> read_many_gpus(const Evidence& e) {
  const Machine& machine = e.setting.machine;
  if (!e.projection.cost || e.projection.gpus <= machine.gpus_per_node()) return {};
  const double share = share_of(e, e.projection.cost->exposed_communication());
  std::string band =
      machine.congestion ? "" : fmt::format("; by how much is unknown: {} has no `congestion`", machine.name);
  if (const auto& c = e.projection.congested)
    band = fmt::format(": {:.2g} to {:.2g} times as long", c->low / e.projection.iteration(),
                       c->high / e.projection.iteration());
  return Reading{
      e.projection.gpus, share, fmt::format("level {}", machine.spanned_by(e.projection.gpus).name),
      fmt::format("other jobs often slow down exchanges among {} GPUs{}", e.projection.gpus, band)};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::congestion, "congestion-taper",
            "oversubscription: ports below a network level / ports into it",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read_taper},
    Measure{BottleneckKind::congestion, "congestion-gpus",
            "number of GPUs that communicate across nodes",
            Reads::count, Sense::at_least, 512, 1, 1e9, true, read_many_gpus}};

constexpr std::array remedies{
    ChangeKind::rings_per_part, ChangeKind::rings_per_level, ChangeKind::no_oversubscription};

}  // namespace

extern constinit const Entry congestion_entry{
    .name = "congestion",
    .title = "network congestion",
    .nature = Nature::bottleneck,
    .meaning = "exchanges cross an oversubscribed part of the network, or share it with other jobs",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
