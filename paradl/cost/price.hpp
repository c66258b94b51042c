#pragma once
#include <vector>

#include "paradl/cost/stage_table.hpp"

namespace paradl {

/// When the stages of a pipeline are done, and how many micro-batches they keep. Depends on the sums of stages
/// and on the schedule, not on ZeRO. Empty for a single stage.
struct ScheduleTable {
  ScheduleTable(const StagePlan& stages, const StageTable& sums, const MeshTable& mesh, const Plan& plan,
                PipelineScratch& scratch,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  PipelineEnd time;                      // of the whole schedule
  std::pmr::vector<Seconds> run_end;     // of the first stage of each run
  std::pmr::vector<double> in_flight;    // by kind: micro-batches whose activations a stage keeps
};

/// Everything that one plan is priced from, by what it depends on.
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

/// Sums of gradients that one stage makes after its last backward pass, and in all.
struct GradientTime {
  Seconds exposed, whole;
};

/// Working memory of pricing a pipeline: it holds nothing from one plan to the next, and is kept only so that
/// none need be asked for again. One per thread.
struct Scratch {
  std::vector<Seconds> run_end;    // by run of stages
  std::vector<GradientTime> sums;  // by kind
};

/// One iteration of a plan that keeps to its bounds.
Cost price(const Tables& tables, const Plan& plan, Scratch& scratch);

/// The passes of every piece of a pipeline, in the order of the network.
std::vector<PieceTime> piece_times(const StagePlan& stages, const StageTable& sums);

/// How long gradients of a single stage are still on their way when its backward pass is over, sent in pieces
/// of `bucket` as they become ready.
Seconds gradient_tail(const Tables& tables, Bytes bucket);

}  // namespace paradl
