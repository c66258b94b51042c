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
  const Evaluation& evaluation = e.details->evaluation;
  const Charge* worst = nullptr;
  LevelTime where{};
  for (const Charge& charge : e.details->exchanges) {
    if (!shares_links(charge, evaluation)) continue;
    for (const LevelTime& level : level_times(charge, evaluation)) {
      if (!is_shared(level.phi)) continue;
      const Seconds waiting = charge.count * (1 - 1 / level.phi) * level.time;
      lost[charge.term] += waiting;
      if (waiting > (1 + 1e-12) * most)  // of equal ones, the first
        most = waiting, worst = &charge, where = level;
    }
  }
  if (worst) {
    const Binding binding = binding_of(where, *worst, evaluation);
    out.value = where.phi;
    out.cause =
        fmt::format("{}, {} over {}", binding.link, what_of(*worst, evaluation), axes_of(*worst, evaluation));
    out.message = fmt::format("φ = {:.3g}: {}", where.phi, text_of(binding, where.phi));
  }
  for (const auto& [term, time] : lost) out.share += share_of(e, std::min(time, (*e.projection.cost)[term]));
  if (lost.empty()) return {};
  return out;
}

constexpr std::array own_measures{
    Measure{BottleneckKind::self_contention, "self-contention",
            "flows of the job that share a link (φ)",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read, exchange_terms}};

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
