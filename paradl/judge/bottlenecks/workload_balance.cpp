// Workload balance: stages of a pipeline wait for each other.
#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read_imbalance(const Evidence& e) {
  if (!e.details || e.details->evaluation.stages->stages < 2) return {};
  const StagePlan& plan = *e.details->evaluation.stages;
  Seconds sum, most;
  int slowest = 0;
  for (int s = 0; s < plan.stages; ++s) {
    const Seconds time = stage_time(*e.details, s);
    sum += time;
    if (time > most) most = time, slowest = s;
  }
  const Seconds mean = sum / plan.stages;
  // A stage that takes longer than the mean delays each of S micro-batches.
  const double share = share_of(e, e.projection.plan.micro_batches * (most - mean));
  const auto first = std::size_t(plan.first_layer[std::size_t(slowest)]);
  return Reading{most / mean, share,
                 fmt::format("stage {} of {}, from layer {}", slowest + 1, plan.stages,
                             e.setting.work.layers[first].name),
                 fmt::format("the slowest stage takes {:.2f} times the mean of all stages", most / mean)};
}

std::optional<Reading> read_bubble(const Evidence& e) {
  if (!e.projection.cost) return {};
  const double share = exposed(e, Term::bubble);
  if (!(share > 0)) return {};
  const int stages = stages_of(e), S = e.projection.plan.micro_batches;
  return Reading{share, share, fmt::format("{} stages, {} micro-batch{}", stages, S, S == 1 ? "" : "es"),
                 fmt::format("stages wait for others {} of the iteration", percent(share))};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::workload_balance, "stage-imbalance",
            "time of the slowest stage / mean of all stages",
            Reads::ratio, Sense::above, 1.1, 1, 1e6, true, read_imbalance},
    Measure{BottleneckKind::workload_balance, "bubble",
            "pipeline bubble / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_bubble}};

constexpr std::array remedies{ChangeKind::more_micro_batches, ChangeKind::two_chunks,
                              ChangeKind::balanced_stages, ChangeKind::more_data};

}  // namespace

extern constinit const Entry workload_balance_entry{
    .name = "workload_balance",
    .title = "workload balance",
    .nature = Nature::limit,
    .meaning = "pipeline stages wait for the slowest one, and for the first and the last micro-batch",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
