// Self-contention: flows of the job itself share a link.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  if (!e.details) return {};
  std::map<Term, Seconds> lost;  // time added by sharing, by term
  Seconds most;
  Reading out{.value = 1};
  for (const ExchangeLine& line : e.details->lines)
    for (const ExchangeStep& step : line.steps) {
      if (step.binding.link.empty()) continue;
      const Seconds waiting = line.count * (1 - 1 / step.phi) * step.time;
      lost[line.term] += waiting;
      if (!(waiting > most)) continue;
      most = waiting;
      out.value = step.phi;
      out.cause = fmt::format("{}, {} over {}", step.binding.link, line.what, line.axis);
      out.message = fmt::format("φ = {:.3g}: {}", step.phi, text_of(step.binding, step.phi));
    }
  for (const auto& [term, time] : lost) out.share += share_of(e, std::min(time, (*e.projection.cost)[term]));
  if (lost.empty()) return {};
  return out;
}

constexpr std::array own_measures{
    Measure{BottleneckKind::self_contention, "self-contention",
            "flows of the job that share a link (φ)",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read}};

constexpr std::array remedies{
    ChangeKind::more_ports, ChangeKind::rings_per_part, ChangeKind::rings_per_level,
    ChangeKind::no_oversubscription};

}  // namespace

extern constinit const Entry self_contention_entry{
    .name = "self_contention",
    .title = "self-contention",
    .nature = Nature::bottleneck,
    .meaning = "flows of the job itself share a link",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
