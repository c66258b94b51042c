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

/// Memory that pricing a pipeline needs; it holds nothing from one plan to the next.
struct Scratch {
  PipelineClock clock;
  std::vector<PieceTime> pieces;
  std::vector<Seconds> stage_end;
};

/// One iteration of a plan that keeps to its bounds.
Breakdown price(const Tables& tables, const Plan& plan, Scratch& scratch);

/// The passes of every piece of a pipeline, in the order of the network.
void fill_pieces(const Tables& tables, std::vector<PieceTime>& pieces);

/// Sums of gradients that one stage makes after its last backward pass, and in all.
struct GradientTime {
  Seconds exposed, whole;
};

/// How long gradients of a single stage are still on their way when its backward pass is over, sent in pieces
/// of `bucket` as they become ready.
Seconds gradient_tail(const Tables& tables, Bytes bucket);

}  // namespace paradl
