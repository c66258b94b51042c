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
  const StrategyName& strategy = change.strategy ? *change.strategy : *p.strategy;
  Plan plan = p.plan;
  change.apply(plan);
  if (!change.changes_case()) return evaluator.project(strategy, plan);
  const Setting& setting = evaluator.setting();
  Training training = setting.training;
  if (change.training) change.training(training);
  const LayerTimes& times = change.times ? *change.times : setting.times;
  if (change.system.empty())
    return Evaluator({setting.work, setting.machine, times, training, setting.topology}, evaluator.layouts())
        .project(strategy, plan);
  const Machine machine = machine_with(change.system);
  const auto topology = topology_of(machine);
  return Evaluator({setting.work, machine, times, training, topology.get()}, evaluator.layouts())
      .project(strategy, plan);
}

}  // namespace

void Alternative::apply(Plan& to) const {
  if (plan) plan(to);
  if (mesh) to.mesh = *mesh;
  if (strategy) to.out_of_core = strategy->out_of_core;
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

std::string same_plan(const Question& asked, const StrategyName& strategy, const Mesh& mesh, int dims) {
  const int extents = std::clamp(dims, 1, asked.most_extents);
  const auto choice =
      asked.grid ? meshes(strategy, *asked.grid, extents) : meshes(strategy, int(mesh.gpus()), extents);
  return (asked.strategies.size() > 1 ? " -s " + strategy.text : "") +
         (choice.size() > 1 ? " --grid " + exact_grid(mesh, std::max(1, dims)) : "");
}

std::string exact_grid(const Mesh& mesh, int extents) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto& [strategy, parts] = mesh.axis[std::size_t(a)];
    out += fmt::format("{}{}=", a ? "," : "", strategy->name);
    if (strategy->input != Placement::split_space || extents < 2) {
      out += fmt::format("{}", parts.total);
      continue;
    }
    for (int d = 0; d < extents; ++d) out += fmt::format("{}{}", d ? "x" : "", parts.cut[std::size_t(d)]);
  }
  return out;
}

}  // namespace paradl
