// The projection of a plan: its cost, its limits, and the time of one GPU.
#include <algorithm>

#include "paradl/cost/evaluator.hpp"

namespace paradl {
namespace {

void add_out_of_core(Projection& out, const Evaluation& e, const Setting& setting) {
  const PricedOutOfCore& beyond = *e.out_of_core;
  const OutOfCorePlan& plan = beyond.plan();
  out.out_of_core = {.kept = plan.count(Fate::kept),
                     .swapped = plan.count(Fate::swapped),
                     .recomputed = plan.count(Fate::recomputed),
                     .weights = plan.home,
                     .host = beyond.host().gpus * plan.host,
                     .again = beyond.again(),
                     .doubt = beyond.doubt(),
                     .stages = e.stages->stages};
  if (plan.time.possible)
    out.limits.add({.rule = LimitRule::host_memory,
                    .value = out.out_of_core->host.base(),
                    .bound = setting.machine.host->memory->base()});
  else if (beyond.lacks_update_rate())
    out.limits.add({.rule = LimitRule::host_update, .value = 1, .bound = 0});
}

/// How gradients are summed if an algorithm was requested.
void add_allreduce(Projection& out, const Evaluation& e) {
  for (std::size_t g = 0; g < e.gradients.groups.size(); ++g) {
    const AskedSum* asked = e.gradients.groups[g].asked;
    if (!asked) continue;
    out.allreduce = std::min(asked->fidelity, out.allreduce.value_or(asked->fidelity));
    const std::string chosen = asked->chosen(e.sums.gradient[g]);
    if (out.chosen.find(chosen) == out.chosen.npos)
      out.chosen += (out.chosen.empty() ? "" : "; ") + chosen;  // groups may choose different ones
  }
}

}  // namespace

Projection Evaluator::project(const Plan& plan, const StagePlan* cut) const {
  Projection out{.plan = plan, .gpus = plan.mesh.gpus()};
  out.iterations = iterations_per_epoch(setting_, plan.batch);
  out.samples = setting_.work.D;
  out.limits = limits(plan, &out.refused);
  if (!out.limits.hold()) return out;
  out.serial = serial(plan, plan.batch / local_samples(plan));
  if (!plan.out_of_core && !plan.allreduce.algorithm) {
    out.cost = cost(plan, cut);
  } else {
    const Evaluation e(*this, plan, cut);
    out.cost = e.cost;
    if (e.out_of_core) add_out_of_core(out, e, setting_);
    add_allreduce(out, e);
  }
  if (setting_.training.ceil_iterations) {
    // The last, smaller mini-batch needs one more exchange and update, but no more work for its samples.
    const double share = full_share(setting_, plan.batch);
    for (const Term t : {Term::forward, Term::backward, Term::recompute, Term::bubble, Term::swap})
      (*out.cost)[t] *= share;
  }
  if (setting_.training.input.from != InputFrom::none) add_input(out, setting_);
  finish(out, setting_);
  return out;
}

}  // namespace paradl
