// Evaluated configurations per second on one core. Input: strategy, grid and mini-batch. Output: time, memory
// and limits.
#include <algorithm>

#include <benchmark/benchmark.h>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/spec/catalog.hpp"

using namespace paradl;

namespace {

bool has_stages(const StrategyName& strategy) {
  return std::ranges::any_of(strategy.axes, [](const Strategy* axis) { return axis->name == "layer"; });
}

/// Every grid of every default strategy on 1 to 1024 GPUs, as `project -p 1..1024` prices them. With
/// micro-batches: only strategies that have stages. Out of core: only plans that do not fit the device.
void price_all(benchmark::State& state, const std::string& model, const std::string& system,
               const Training& training, bool modelled = false, double beyond_core = 0,
               const Plan& options = {}) {
  const Catalog catalog({PARADL_SOURCE_DIR});
  const Workload work = build_workload(catalog.model(model));
  const Machine machine = build_machine(catalog.system(system));
  LayerTimes times = layer_times(work, machine, training.precision, training.optimizer);
  if (modelled)
    times =
        modelled_times(std::move(times), work,
                       kernel_device(machine.device, training.precision, training.optimizer), "", work.batch);
  const Setting setting{work, machine, times, training};
  const Evaluator evaluator(setting);

  std::vector<StrategyName> strategies = default_strategies();
  if (beyond_core > 0) {
    const auto staged = [](const Strategy* axis) { return axis->name == "layer"; };
    std::erase_if(strategies, [&](const StrategyName& s) { return std::ranges::any_of(s.axes, staged); });
    for (StrategyName& strategy : strategies) strategy = out_of_core(strategy);
  }
  std::vector<Plan> all;
  for (int p = 1; p <= 1024; p *= 2)
    for (const StrategyName& strategy : strategies) {
      if (options.micro_batches > 1 && !has_stages(strategy)) continue;
      const double samples = work.batch * p * options.micro_batches * std::max(1.0, beyond_core);
      for (const Mesh& mesh : meshes(strategy, p, std::max(1, work.input.dims)))
        all.push_back(options.on(strategy, mesh, samples));
    }
  // Grids that break a limit are refused before they are priced, so they are not counted.
  std::erase_if(all, [&](const Plan& plan) {
    const Projection p = evaluator.project(plan);
    return !p.cost ||
           (p.out_of_core && (!p.feasible() || p.out_of_core->swapped + p.out_of_core->recomputed == 0));
  });

  std::size_t next = 0;
  for (auto _ : state) {
    const Plan& plan = all[next];
    next = next + 1 < all.size() ? next + 1 : 0;
    benchmark::DoNotOptimize(evaluator.project(plan));
  }
  state.counters["configurations/s"] =
      benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["grids"] = double(all.size());
}

void gpt3_pipelined(benchmark::State& state, PipelineSchedule schedule, int chunks = 1) {
  price_all(state, "gpt3-175b", "selene", {.precision = Precision::fp16}, false, 0,
            {.micro_batches = 64, .schedule = schedule, .chunks = chunks});
}

void resnet50(benchmark::State& state) { price_all(state, "resnet50", "abci", {}); }
void gpt3(benchmark::State& state) {
  price_all(state, "gpt3-175b", "selene", {.precision = Precision::fp16});
}
void gpt3_gpipe(benchmark::State& state) {
  gpt3_pipelined(state, PipelineSchedule::gpipe);
}
void gpt3_1f1b(benchmark::State& state) {
  gpt3_pipelined(state, PipelineSchedule::one_forward_one_backward);
}
void gpt3_interleaved(benchmark::State& state) {
  gpt3_pipelined(state, PipelineSchedule::interleaved, 2);
}
void resnet50_modelled(benchmark::State& state) { price_all(state, "resnet50", "abci", {}, true); }
void gpt3_modelled(benchmark::State& state) {
  price_all(state, "gpt3-175b", "selene", {.precision = Precision::fp16}, true);
}
void resnet50_out_of_core(benchmark::State& state) { price_all(state, "resnet50", "abci", {}, true, 8); }
void gpt2_out_of_core(benchmark::State& state) { price_all(state, "gpt2-medium", "abci", {}, true, 8); }

}  // namespace

BENCHMARK(resnet50);
BENCHMARK(gpt3);
BENCHMARK(gpt3_gpipe);
BENCHMARK(gpt3_1f1b);
BENCHMARK(gpt3_interleaved);
BENCHMARK(resnet50_modelled);
BENCHMARK(resnet50_modelled)->Iterations(10000);  // tests/speed counts its instructions
BENCHMARK(gpt3_modelled);
BENCHMARK(resnet50_out_of_core);
BENCHMARK(gpt2_out_of_core);
