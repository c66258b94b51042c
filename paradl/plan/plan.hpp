#pragma once
#include <string>

#include "paradl/mesh/mesh.hpp"
#include "paradl/mesh/pipeline.hpp"
#include "paradl/network/algorithm.hpp"
#include "paradl/strategy/rules.hpp"

namespace paradl {

struct StrategyName;

/// The algorithm that sums gradients. None: rings on every level, or as the framework does it.
struct Allreduce {
  const Algorithm* algorithm = nullptr;
  double density = 1;  // of sparse gradients
  friend bool operator==(const Allreduce&, const Allreduce&) = default;
};

/// The order of a pipeline's passes, and the number of chunks of each stage: one, unless interleaved.
struct PipelineOrder {
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  int chunks = 1;
  friend bool operator==(const PipelineOrder&, const PipelineOrder&) = default;
};

/// What the backward pass recomputes, and in how many blocks; -1: in all.
struct Recomputation {
  Recompute kind = Recompute::none;
  int blocks = -1;
  friend bool operator==(const Recomputation&, const Recomputation&) = default;
};

inline constexpr int most_micro_batches = 1'000'000;  // of a plan
inline constexpr int most_zero = 3;                   // the last stage of ZeRO

/// How to train: one point of the search space. Everything else (network, machine, framework) is the case.
struct Plan {
  Mesh mesh = {};    // axes with their sizes, outermost first
  double batch = 1;  // samples of a mini-batch
  int micro_batches = 1;  // per pipeline and iteration
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  int chunks = 1;  // pieces of the network on each stage, if the schedule is interleaved
  Recompute recompute = Recompute::none;
  int recomputed_blocks = -1;  // number of recomputed blocks, evenly spread; -1: all
  /// ZeRO shards optimizer state (1), gradients (2) and weights (3, as FSDP does) over the GPUs that have the
  /// same weights and different samples.
  int zero = 0;
  bool sequence_parallel = false;  // between the pairs of products of `tensor`
  bool out_of_core = false;        // what does not fit on the device is swapped to the host, or recomputed
  Allreduce allreduce = {};

  /// These options, placed on a mesh with a mini-batch. A strategy says whether it is out of core.
  Plan on(const StrategyName& strategy, const Mesh& other_mesh, double other_batch) const;
  double samples() const { return batch / micro_batches; }  // of one micro-batch, over all GPUs
  Pipeline pipeline(int stages) const { return {stages, micro_batches, stages > 1 ? chunks : 1, schedule}; }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The strategy of a plan: its axes in order, also those of one GPU.
StrategyName strategy_of(const Plan& plan);

/// Samples of one GPU and mini-batch, after all axes that split samples.
double local_samples(const Plan& plan);

/// The same plan on a mesh without axes of one GPU.
Plan without_ones(Plan plan);

/// For plans as keys. It reads only what plans of one search mostly differ in; equality decides.
struct PlanHash {
  std::size_t operator()(const Plan& plan) const;
};

/// Options of a plan as typed: `1f1b`, `interleaved:2`; `full`, `full:4`; `hd`, `sparse-ring:0.0078`, or
/// nothing if no algorithm was asked for.
std::string schedule_text(const Plan& plan);
std::string recompute_text(const Plan& plan);
std::string allreduce_text(const Plan& plan);

}  // namespace paradl
