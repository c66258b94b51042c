// Networks and machines with round numbers, so that every expectation can be checked with a pencil.
#pragma once
#include <memory>
#include <string>

#include <fmt/format.h>

#include "paradl/cost/evaluator.hpp"
#include "paradl/paper/row.hpp"

namespace paradl::test {

inline Workload work_of(const std::string& layers, const std::string& input = "8x16x16",
                        const std::string& more = "") {
  const std::string text = fmt::format(
      "name: pencil\ninput: {}\ndataset: {{name: d, samples: 1000}}\n{}\nlayers:\n{}", input, more, layers);
  return build_workload(read_model({"pencil.yaml", text},
                                   [](const std::string&) -> SourceText { throw UsageError("no base"); }));
}

/// Convolutions of stride 1 that keep their extents: what the paper's closed forms assume.
inline Workload chain(int layers, int channels = 8, const std::string& input = "8x16x16") {
  std::string text;
  for (int i = 0; i < layers; ++i)
    text += fmt::format("  - {{name: conv{}, op: conv, filters: {}, kernel: 3, padding: 1, bias: false}}\n",
                        i, channels);
  return work_of(text, input);
}

/// One level of links between all GPUs.
inline Machine flat_machine(int gpus = 1024) {
  using namespace literals;
  Machine machine{.name = "flat"};
  machine.device = {.name = "unit", .memory = 64.0_GiB, .memory_bandwidth = 1000.0_GBps, .peak = {}};
  machine.device.peak.fill(10.0_Tflops);
  machine.levels = {
      {.name = "all", .gpus = double(gpus), .inside = 1, .link = {10.0_us, 1.0 / 10.0_GBps}, .ports = 1}};
  return machine;
}

/// Nodes of four GPUs with two ports each.
inline Machine two_level_machine() {
  using namespace literals;
  Machine machine = flat_machine(4);
  machine.levels.push_back(
      {.name = "nodes", .gpus = 1024, .inside = 4, .link = {40.0_us, 1.0 / 12.5_GBps}, .ports = 2});
  return machine;
}

/// Exchanges follow the computation, as in the closed forms.
inline Training without_overlap() {
  Training t;
  t.overlap = false;
  return t;
}

/// A question with all objects that it refers to.
struct Bench {
  Workload work;
  Machine machine;
  std::shared_ptr<const Topology> topology;  // if the machine names one
  LayerTimes times;
  Training training;
  Plan plan;  // the options of all that is asked
  std::unique_ptr<Evaluator> evaluator;

  Bench(Workload w, Machine m, Training t = {}, Plan options = {})
      : work(std::move(w)), machine(std::move(m)), training(t), plan(options) {
    topology = topology_of(machine);
    times = layer_times(work, machine, training.precision, training.optimizer);
    evaluator = std::make_unique<Evaluator>(setting());
  }
  Setting setting() const { return {work, machine, times, training, topology}; }

  static Mesh mesh(const StrategyName& strategy, const std::string& grid) {
    Mesh out;
    if (strategy.axes.empty()) return out;
    const auto sizes = read_grid(grid, strategy);
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      Parts parts = sizes[a];
      if (strategy.axes[a]->input == Placement::split_space && parts.cut == std::array{1, 1, 1})
        parts.cut = {parts.total, 1, 1};
      out.axis[std::size_t(out.axes++)] = {strategy.axes[a], parts};
    }
    return out;
  }
  /// Epoch terms per iteration, by the engine.
  Projection engine(const std::string& strategy, const std::string& grid, double batch) {
    return evaluator->project(plan_on(strategy, grid, batch));
  }
  Projection paper(const std::string& strategy, const std::string& grid, double batch) {
    return paper::project(setting(), plan_on(strategy, grid, batch));
  }

 private:
  Plan plan_on(const std::string& strategy, const std::string& grid, double batch) const {
    const StrategyName name = read_strategy(strategy);
    return plan.on(name, mesh(name, grid), batch);
  }
};

}  // namespace paradl::test
