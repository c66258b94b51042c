#include "paradl/judge/alternative.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/cost/evaluator.hpp"

namespace paradl {
namespace {

/// The same projection with a change. A change of the plan alone needs no other evaluator.
Projection ask_again(const Evaluator& evaluator, const MachineWith& machine_with, const Projection& p,
                     const Alternative& change) {
  Plan plan = p.plan;
  change.apply(plan);
  if (!change.changes_case()) return evaluator.project(plan);
  const Setting& now = evaluator.setting();
  Setting setting = change.times ? now.with(change.times) : now;
  if (change.training) change.training(setting.training);
  if (change.system.empty()) return Evaluator(setting, evaluator.layouts()).project(plan);
  Machine machine = machine_with(change.system);
  auto topology = topology_of(machine);
  return Evaluator(setting.on(std::move(machine), std::move(topology)), evaluator.layouts()).project(plan);
}

}  // namespace

void Alternative::apply(Plan& to) const {
  if (plan) plan(to);
  if (mesh) to.mesh = *mesh;
  if (out_of_core) to.out_of_core = *out_of_core;
}

Alternative system_change(std::string text, Override change) {
  return {.text = std::move(text), .option = text_of({change}), .system = {std::move(change)}};
}

std::vector<PricedAlternative> price(const std::vector<Alternative>& changes, const Evaluator& evaluator,
                                     const MachineWith& machine_with, const Projection& projection) {
  std::vector<PricedAlternative> out;
  for (const Alternative& change : changes) {
    if (!change.system.empty() && !machine_with) continue;
    try {
      const Projection then = ask_again(evaluator, machine_with, projection, change);
      if (!then.feasible()) continue;
      const double gain = projection.cost ? 1 - then.epoch() / projection.epoch() : 0;
      out.push_back({change, gain, then.epoch(), then.cost->memory.total()});
    } catch (const UsageError&) {  // the system file has no such value to change
    }
  }
  std::ranges::stable_sort(out, std::greater{}, &PricedAlternative::gain);
  return out;
}

std::string gain_text(double gain) {
  const double percent = 100 * gain;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string same_plan(const Question& asked, const Plan& plan, int dims) {
  const StrategyName strategy = strategy_of(plan);
  const int extents = std::clamp(dims, 1, asked.most_extents);
  const auto choice =
      asked.grid ? meshes(strategy, *asked.grid, extents) : meshes(strategy, int(plan.mesh.gpus()), extents);
  return (asked.strategies.size() > 1 ? " -s " + strategy.text : "") +
         (choice.size() > 1 ? " --grid " + exact_grid(plan.mesh, std::max(1, dims)) : "");
}

}  // namespace paradl
