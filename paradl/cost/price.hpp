#pragma once
#include <vector>

#include "paradl/cost/stage_table.hpp"

namespace paradl {

/// When the stages of a pipeline are done, and how many micro-batches they keep. Depends on the sums of
/// stages and on the schedule, not on ZeRO. A single stage has no times.
struct ScheduleTable {
  ScheduleTable(const StagePlan& stages, const StageTable& sums, const MeshTable& mesh, const Plan& plan,
                PipelineScratch& scratch,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  PipelineEnd time;                      // of the whole schedule
  std::pmr::vector<Seconds> run_end;     // of the first stage of each run
  std::pmr::vector<double> in_flight;    // by kind: micro-batches whose activations a stage keeps
};

/// All tables that a plan is priced from, separated by what they depend on.
struct Tables {
  const Links& links;
  const Layout& layout;
  const StagePlan& stages;
  const MeshTable& mesh;
  const GradientTable& gradients;
  const PassTable& passes;
  const StageTable& sums;
  const ScheduleTable& schedule;
  const Setting& setting() const { return mesh.setting; }
};

/// The time of a stage's gradient sums: after its last backward pass, and in total.
struct GradientTime {
  Seconds exposed, whole;
};

/// Working memory for pricing a pipeline. No result depends on its contents; it is reused only to avoid
/// allocations. One per thread.
struct Scratch {
  std::vector<Seconds> run_end;    // by run of stages
  std::vector<GradientTime> sums;  // by kind
};

/// The cost of one iteration of a plan that keeps its limits.
Cost price(const Tables& tables, const Plan& plan, Scratch& scratch);

/// The stage that needs most memory.
struct FullestStage {
  int stage = 0;
  Memory memory;
};
FullestStage fullest_stage(const Tables& tables, const Plan& plan);

/// The times of every piece of a pipeline, in the order of the network.
std::vector<PieceTime> piece_times(const StagePlan& stages, const StageTable& sums);

/// The gradient sums of a single stage, without those of ZeRO's weights.
GradientTime single_sum(const Tables& tables);

/// The cost per tensor of packing the gradients of some layers for one group; the cost per byte is part of
/// the message cost.
Seconds packing(const Tables& tables, const LayerSums& sums, std::size_t group);

/// The sums of all gradients of a stage, one after the other.
Seconds whole_sum(const Tables& tables, const LayerSums& kind);

/// The time in which two stages that use the same weights sum their gradients.
Seconds tied_sum(const Tables& tables, const StagePlan::Tied& tied);

/// What a pipeline does after its schedule.
struct PipelineTail {
  int last = -1;  // the kind of the stage that is done last; -1: all are done before the schedule ends
  Seconds gradient, update;  // of that stage, after the end of the schedule
  Seconds whole;             // all gradient sums of the stage that has most of them, and of shared weights
};
PipelineTail pipeline_tail(const Tables& tables, const Plan& plan, Scratch& scratch);

/// The gathers of weights that ZeRO has sharded, in one iteration: on the kind of stage where they take
/// longest.
struct SlowestGathers {
  std::size_t kind = 0;
  GradientTime time;
};
SlowestGathers slowest_gathers(const Tables& tables, const Plan& plan);

/// Gathers of weights one tensor at a time, on a single stage: all layers of a cell once. Zero for small
/// tensors, which stay on every GPU.
Seconds gathered_once(const Tables& tables, std::size_t cell);
/// The gathers of all tensors and the scatters of their gradients, in one iteration.
GradientTime tensor_gathers(const Tables& tables, const Plan& plan);

/// How long a single stage still sends gradients when its backward pass is over, if it sends them in pieces
/// of `bucket` as they become ready.
Seconds gradient_tail(const Tables& tables, Bytes bucket);

}  // namespace paradl
