// Weight update: every replica updates all its weights.
// Trigger from the ParaDL report: the update takes 10 to 15 % of computation.
#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  if (!e.projection.cost) return {};
  const Cost& cost = *e.projection.cost;
  const double of_compute = cost[Term::update] / cost.compute();
  if (!(of_compute > 0)) return {};
  Reading out{of_compute, exposed(e, Term::update), "",
              fmt::format("the weight update takes {} of the computation", percent(of_compute))};
  if (!e.details) return out;
  Seconds most;
  const PassTable& passes = e.details->evaluation.passes;
  for (std::size_t i = 0; i < e.details->evaluation.layout->cells.size(); ++i)
    if (const Seconds update = passes.cells[i].updated(e.projection.plan.zero); update > most) {
      most = update;
      out.cause = fmt::format("{}, {} of it", layer_of(e, e.details->evaluation.layout->cells[i]).name,
                              percent(most / cost[Term::update]));
    }
  return out;
}

constexpr std::array own_measures{
    Measure{BottleneckKind::weight_update, "weight-update",
            "weight update / computation",
            Reads::share, Sense::above, 0.1, 0, 1, false, read}};

constexpr std::array remedies{
    ChangeKind::sharded_optimizer, ChangeKind::twice_the_batch, ChangeKind::fused_update};

}  // namespace

extern constinit const Entry weight_update_entry{
    .name = "weight_update",
    .title = "weight update",
    .nature = Nature::limit,
    .meaning = "every replica updates all its weights",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
