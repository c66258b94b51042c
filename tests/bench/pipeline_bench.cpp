// The time to find the end of a pipeline schedule (with and without its messages, in one call), and to cut a
// chain of layers into stages. `usual` is a transformer: the first stage has an embedding, the last one a
// head, and those between are equal. All stages of `uneven` differ.
#include <random>

#include <benchmark/benchmark.h>

#include "paradl/mesh/partition.hpp"
#include "paradl/mesh/pipeline.hpp"

using namespace paradl;

namespace {

std::vector<std::vector<PieceTime>> usual_times(const Pipeline& pipeline) {
  const PieceTime block{Seconds{3e-3}, Seconds{6e-3}, Seconds{2e-4}};
  std::vector<std::vector<PieceTime>> out(3, std::vector(std::size_t(pipeline.chunks), block));
  out.front().front().forward += Seconds{1e-5};
  out.back().back().forward += Seconds{1e-3}, out.back().back().backward += Seconds{2e-3};
  return out;
}

std::vector<std::vector<PieceTime>> uneven_times(const Pipeline& pipeline) {
  std::mt19937 random(1);
  const auto about = [&](double time) { return Seconds{time * (1 + 0.2 * double(random() % 1000) / 1000)}; };
  std::vector<std::vector<PieceTime>> out(std::size_t(pipeline.stages));
  for (auto& stage : out)
    for (int c = 0; c < pipeline.chunks; ++c) stage.push_back({about(3e-3), about(6e-3), about(2e-4)});
  return out;
}

void schedule(benchmark::State& state, PipelineSchedule order, bool usual) {
  const Pipeline pipeline{int(state.range(0)), int(state.range(2)), int(state.range(1)), order};
  const auto times = usual ? usual_times(pipeline) : uneven_times(pipeline);
  std::vector<StageRun> runs;
  for (const auto& chunks : times) runs.push_back({1, chunks});
  if (usual) runs[1].stages = pipeline.stages - 2;
  std::vector<Seconds> ends(runs.size());
  PipelineScratch scratch;
  for (auto _ : state) benchmark::DoNotOptimize(pipeline_end(pipeline, runs, ends, scratch));
}

void usual(benchmark::State& state, PipelineSchedule order) { schedule(state, order, true); }
void uneven(benchmark::State& state, PipelineSchedule order) { schedule(state, order, false); }

/// A transformer: an embedding, blocks of 13 layers, and a head.
struct Chain {
  std::vector<LayerLoad> layer;
  std::vector<double> border;
};
Chain transformer(int blocks, bool hosted) {
  Chain out;
  const auto add = [&](double forward, double border) {
    const double host = hosted ? 2e-5 : 0;
    out.layer.push_back({forward, 2 * forward, host, host});
    out.border.push_back(border);
  };
  add(1e-5, 1e-4);
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < 13; ++i) add(i % 6 == 1 ? 1e-3 : 2e-5, i == 12 ? 1e-4 : 3e-4);
  add(1e-5, 1e-4), add(2e-3, 0), add(1e-5, 0);
  return out;
}

void balanced(benchmark::State& state, bool hosted) {
  const Chain chain = transformer(96, hosted);
  for (auto _ : state)
    benchmark::DoNotOptimize(balanced_partition(chain.layer, int(state.range(0)), chain.border));
}
void interleaved(benchmark::State& state, bool hosted) {
  const Chain chain = transformer(96, hosted);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        interleaved_partition(chain.layer, int(state.range(0)), int(state.range(1)), chain.border));
}

}  // namespace

// Arguments: stages, chunks, micro-batches.
BENCHMARK_CAPTURE(usual, gpipe, PipelineSchedule::gpipe)->Args({8, 1, 64})->Args({64, 1, 256});
BENCHMARK_CAPTURE(uneven, gpipe, PipelineSchedule::gpipe)->Args({8, 1, 64})->Args({64, 1, 256});
BENCHMARK_CAPTURE(usual, 1f1b, PipelineSchedule::one_forward_one_backward)
    ->Args({8, 1, 64})
    ->Args({64, 1, 32})
    ->Args({64, 1, 256});
BENCHMARK_CAPTURE(uneven, 1f1b, PipelineSchedule::one_forward_one_backward)
    ->Args({8, 1, 64})
    ->Args({64, 1, 256});
BENCHMARK_CAPTURE(usual, interleaved, PipelineSchedule::interleaved)
    ->Args({8, 4, 64})
    ->Args({16, 4, 16})
    ->Args({16, 4, 256})
    ->Args({64, 4, 1024});
BENCHMARK_CAPTURE(uneven, interleaved, PipelineSchedule::interleaved)
    ->Args({8, 2, 64})
    ->Args({8, 4, 64})
    ->Args({16, 4, 16})
    ->Args({16, 4, 32})
    ->Args({16, 4, 256});
BENCHMARK_CAPTURE(balanced, times, false)->Arg(4)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(balanced, hosted, true)->Arg(16);
BENCHMARK_CAPTURE(interleaved, times, false)->Args({4, 2})->Args({16, 4})->Args({8, 12});
BENCHMARK_CAPTURE(interleaved, hosted, true)->Args({16, 4});
