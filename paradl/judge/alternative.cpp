#include "paradl/judge/alternative.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/cost/evaluator.hpp"

namespace paradl {

namespace {

/// `layouts`: shared with other changes.
Projection ask_again(const Setting& setting, const MachineWith& machine_with, const Projection& p,
                     const Alternative& change, const std::shared_ptr<Layouts>& layouts) {
  Training training = setting.training;
  if (change.training) change.training(training);
  const StrategyName& strategy = change.strategy ? *change.strategy : *p.strategy;
  const Mesh mesh = change.mesh.value_or(p.mesh);
  const double batch = change.batch > 0 ? change.batch : p.batch;
  const LayerTimes& times = change.times ? *change.times : setting.times;
  if (change.system.empty())
    return Evaluator({setting.work, setting.machine, times, training, setting.topology}, layouts)
        .project(strategy, mesh, batch);
  const Machine machine = machine_with(change.system);
  const auto topology = topology_of(machine);
  return Evaluator({setting.work, machine, times, training, topology.get()}, layouts)
      .project(strategy, mesh, batch);
}

}  // namespace

Alternative system_change(std::string text, std::string path, std::string value) {
  std::string option = fmt::format("--set {}={}", path, value);
  return {.text = std::move(text),
          .option = std::move(option),
          .system = {{std::move(path), std::move(value)}}};
}

Projection ask_again(const Setting& setting, const MachineWith& machine_with, const Projection& p,
                     const Alternative& change) {
  return ask_again(setting, machine_with, p, change, std::make_shared<Layouts>(setting.work));
}

std::vector<PricedAlternative> price(const std::vector<Alternative>& changes, const Setting& setting,
                                     const MachineWith& machine_with, const Projection& projection) {
  std::vector<PricedAlternative> out;
  const auto layouts = std::make_shared<Layouts>(setting.work);
  for (const Alternative& change : changes) {
    if (!change.system.empty() && !machine_with) continue;
    try {
      const Projection then = ask_again(setting, machine_with, projection, change, layouts);
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
  const double percent = -100 * gain;
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
