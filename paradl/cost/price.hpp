#pragma once
#include <vector>

#include "paradl/cost/stage_table.hpp"

namespace paradl {

/// Everything that one plan is priced from, by what it depends on.
struct Tables {
  const Links& links;
  const Layout& layout;
  const StagePlan& stages;
  const MeshTable& mesh;
  const GradientTable& gradients;
  const PassTable& passes;
  const StageTable& sums;
  const Setting& setting() const { return mesh.setting; }
};

/// Sums of gradients that one stage makes after its last backward pass, and in all.
struct GradientTime {
  Seconds exposed, whole;
};

/// Working memory of pricing a pipeline: it holds nothing from one plan to the next, and is kept only so that
/// none need be asked for again. One per thread.
struct Scratch {
  PipelineScratch pipeline;
  std::vector<PieceTime> pieces;  // kind by kind
  std::vector<StageRun> runs;
  std::vector<Seconds> run_end;
  std::vector<GradientTime> sums;  // by kind
};

/// One iteration of a plan that keeps to its bounds.
Breakdown price(const Tables& tables, const Plan& plan, Scratch& scratch);

/// The passes of every piece of a pipeline, in the order of the network.
std::vector<PieceTime> piece_times(const Tables& tables);

/// How long gradients of a single stage are still on their way when its backward pass is over, sent in pieces
/// of `bucket` as they become ready.
Seconds gradient_tail(const Tables& tables, Bytes bucket);

}  // namespace paradl
