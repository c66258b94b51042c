// Plans per second on one core, in the order of a search: values that change rarely are computed rarely.
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/sweep.hpp"
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
  c.training.overlap = spec.overlap.value_or("on") == "on";
  if (spec.equal_stages) c.training.stage_cut = StageCut::equal_blocks;
  c.training.precision = precision;
  c.training.optimizer = optimizer;
  c.times = modelled_times(layer_times(c.work, c.machine, precision, optimizer), c.work,
                           kernel_device(c.machine.device, precision, optimizer), "", c.work.batch);
  return c;
}

/// The axes of Calculon's search for one number of GPUs: tensor, pipeline and data parallelism, micro-batch,
/// interleaving, recomputation, sequence parallelism and ZeRO. Returns how many plans were priced.
std::size_t search(const Evaluator& evaluator, int gpus, double batch, Seconds& best) {
  const StrategyName strategy = read_strategy("data+layer+tensor");
  std::size_t plans = 0;
  Scratch scratch;
  PipelineScratch pipeline;
  std::vector<std::byte> memory(1 << 20);
  std::pmr::monotonic_buffer_resource passes_memory(memory.data(), memory.size() / 2),
      stages_memory(memory.data() + memory.size() / 2, memory.size() / 2);
  for (int tensor = 1; tensor <= 8; tensor *= 2)
    for (int stages = 1; stages <= 96 && tensor * stages <= gpus; ++stages) {
      if (96 % stages != 0 || gpus % (tensor * stages) != 0) continue;
      const int data = gpus / (tensor * stages);
      Plan plan{.batch = batch};
      plan.mesh = without_ones(
          meshes(strategy, {{.total = data}, {.total = stages}, {.total = tensor}}, 1).front());
      for (const bool sequence_parallel : {false, true}) {
        if (sequence_parallel && tensor == 1) continue;
        plan.sequence_parallel = sequence_parallel;
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          plan.recompute = recompute;
          const Layout& layout = evaluator.layout(plan);
          const MeshTable mesh(evaluator.setting(), evaluator.links(), layout, plan.mesh);
          const GradientTable sums[]{{evaluator.links(), layout, mesh, 0, {}},
                                     {evaluator.links(), layout, mesh, 1, {}},
                                     {evaluator.links(), layout, mesh, 3, {}}};
          for (double size = 1; size <= batch / data; size *= 2) {
            if (std::fmod(batch, data * size) != 0) continue;
            plan.micro_batches = int(batch / (data * size));
            plan.chunks = 1;
            passes_memory.release();
            const PassTable passes(evaluator.links(), evaluator.times(), layout, mesh, sums[0], plan,
                                   &passes_memory);
            for (int chunks = 1; chunks * stages <= 96; ++chunks) {
              if (96 % (stages * chunks) != 0 || (chunks > 1 && plan.micro_batches % stages != 0)) continue;
              if (stages == 1 && chunks > 1) break;
              plan.chunks = chunks;
              plan.schedule = chunks > 1 ? PipelineSchedule::interleaved
                                         : PipelineSchedule::one_forward_one_backward;
              const StagePlan& staged = evaluator.stages(layout, mesh, sums[0], passes, plan);
              stages_memory.release();
              const StageTable table(layout, staged, mesh, passes, &stages_memory);
              const ScheduleTable schedule(staged, table, mesh, plan, pipeline, &stages_memory);
              for (plan.zero = 0; plan.zero <= 3; ++plan.zero) {
                const GradientTable& gradients = sums[plan.zero == 0 ? 0 : plan.zero == 3 ? 2 : 1];
                const Cost cost =
                    price({evaluator.links(), layout, staged, mesh, gradients, passes, table, schedule}, plan,
                          scratch);
                if (plans == 0 || cost.iteration() < best) best = cost.iteration();
                ++plans;
              }
            }
          }
        }
      }
    }
  return plans;
}

void gpt3_search(benchmark::State& state) {
  const BenchCase c = load("gpt3-175b", "selene", "megatron", Precision::fp16, Optimizer::adam);
  const Evaluator evaluator(c.setting());
  Seconds best;
  search(evaluator, 1024, 1536, best);
  std::size_t plans = 0;
  for (auto _ : state) {
    plans += search(evaluator, 1024, 1536, best);
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
