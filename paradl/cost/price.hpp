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

/// How long a single stage still sends gradients when its backward pass is over, if it sends them in pieces
/// of `bucket` as they become ready.
Seconds gradient_tail(const Tables& tables, Bytes bucket);

}  // namespace paradl
