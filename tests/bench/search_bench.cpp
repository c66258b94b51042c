// Plans per second on one core, in the order of a search: values that change rarely are computed rarely.
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/search/walk.hpp"
#include "paradl/spec/catalog.hpp"

using namespace paradl;

namespace {

struct BenchCase {
  Workload work;
  Machine machine;
  Training training;
  LayerTimes times;
  Setting setting() const { return {work, machine, times, training}; }
};

BenchCase load(const char* model, const char* system, const char* framework, Precision precision,
               Optimizer optimizer) {
  const Catalog catalog({PARADL_SOURCE_DIR});
  BenchCase c{.work = build_workload(catalog.model(model)),
              .machine = build_machine(catalog.system(system)),
              .training = {},
              .times = {}};
  const FrameworkSpec spec = read_framework(catalog.find(SpecKind::frameworks, framework));
  c.training.framework = spec.terms;
  c.training.overlap = spec.overlap.value_or(true);
  if (spec.equal_stages) c.training.stage_cut = StageCut::equal_blocks;
  c.training.precision = precision;
  c.training.optimizer = optimizer;
  c.times = modelled_times(layer_times(c.work, c.machine, precision, optimizer), c.work,
                           kernel_device(c.machine.device, precision, optimizer), "", c.work.batch);
  return c;
}

/// The axes of Calculon's search for one number of GPUs: tensor, pipeline and data parallelism, micro-batch,
/// interleaving, recomputation, sequence parallelism and ZeRO. One space for each mesh, since the chunks of
/// its stages must divide the blocks.
std::vector<Space> calculon_spaces(int gpus, double batch) {
  constexpr int blocks = 96;
  const StrategyName strategy = read_strategy("data+layer+tensor");
  std::vector<int> micro_batches;
  for (int S = int(batch); S > 0; S = S % 2 == 0 ? S / 2 : 0) micro_batches.push_back(S);
  Space space{.meshes = {},
              .batches = {batch},
              .micro_batches = micro_batches,
              .recomputations = {{Recompute::none}, {Recompute::selective}, {Recompute::full}},
              .zero = {0, 1, 2, 3}};
  std::vector<Space> out;
  for (int tensor = 1; tensor <= 8; tensor *= 2)
    for (int stages = 1; stages <= blocks && tensor * stages <= gpus; ++stages) {
      if (blocks % stages != 0 || gpus % (tensor * stages) != 0) continue;
      const int data = gpus / (tensor * stages);
      space.meshes = meshes(strategy, {{.total = data}, {.total = stages}, {.total = tensor}}, 1);
      space.sequence_parallel = tensor > 1 ? std::vector{false, true} : std::vector{false};
      space.schedules = {{PipelineSchedule::one_forward_one_backward}};
      for (int chunks = 2; stages > 1 && chunks * stages <= blocks; ++chunks)
        if (blocks % (stages * chunks) == 0)
          space.schedules.push_back({PipelineSchedule::interleaved, chunks});
      out.push_back(space);
    }
  return out;
}

/// Returns how many plans keep their limits.
std::size_t search(const Evaluator& evaluator, const std::vector<Space>& spaces, Seconds& best) {
  std::size_t plans = 0;
  for (const Space& space : spaces)
    walk(evaluator, space, [&](const Plan&, const Cost& cost) {
      if (plans++ == 0 || cost.iteration() < best) best = cost.iteration();
    });
  return plans;
}

void gpt3_search(benchmark::State& state) {
  const BenchCase c = load("gpt3-175b", "selene", "megatron", Precision::fp16, Optimizer::adam);
  const Evaluator evaluator(c.setting());
  const std::vector<Space> spaces = calculon_spaces(1024, 1536);
  Seconds best;
  search(evaluator, spaces, best);
  std::size_t plans = 0;
  for (auto _ : state) {
    plans += search(evaluator, spaces, best);
    benchmark::DoNotOptimize(best);
  }
  state.counters["plans/s"] = benchmark::Counter(double(plans), benchmark::Counter::kIsRate);
  state.counters["plans"] = double(plans) / double(state.iterations());
}

/// Prices as many plans as a table has rows, each on its own.
void by_gpus(benchmark::State& state) {
  const BenchCase c = load("gpt3-175b", "selene", "megatron", Precision::fp16, Optimizer::adam);
  const Evaluator evaluator(c.setting());
  const int gpus = int(state.range(0));
  const StrategyName strategy = read_strategy("data+layer+tensor");
  Plan plan{.batch = double(gpus)};
  plan.mesh = meshes(strategy, {{.total = gpus / 4}, {.total = 2}, {.total = 2}}, 1).front();
  plan.micro_batches = 4;
  plan.schedule = PipelineSchedule::one_forward_one_backward;
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.cost(plan));
}

/// Prices the first plan with a new evaluator.
void cold(benchmark::State& state, const char* model, const char* system, const char* strategy,
          const std::vector<Parts>& sizes, double batch) {
  const BenchCase c = load(model, system, "ideal", Precision::fp16, Optimizer::momentum);
  Plan plan{.batch = batch};
  plan.mesh = meshes(read_strategy(strategy), sizes, 1).front();
  for (auto _ : state) {
    state.PauseTiming();
    auto evaluator = std::make_unique<Evaluator>(c.setting());
    state.ResumeTiming();
    benchmark::DoNotOptimize(evaluator->cost(plan));
    state.PauseTiming();
    evaluator.reset();
    state.ResumeTiming();
  }
}
void cold_resnet50(benchmark::State& state) {
  cold(state, "resnet50", "abci", "data+filter", {{.total = 16}, {.total = 4}}, 2048);
}
void cold_gpt3(benchmark::State& state) {
  cold(state, "gpt3-175b", "selene", "data+tensor", {{.total = 16}, {.total = 8}}, 128);
}

}  // namespace

BENCHMARK(gpt3_search)->Unit(benchmark::kMillisecond);
BENCHMARK(by_gpus)->RangeMultiplier(4)->Range(8, 65536);
BENCHMARK(cold_resnet50);
BENCHMARK(cold_gpt3);
