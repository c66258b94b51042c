#pragma once
#include <vector>

#include "paradl/core/function_ref.hpp"
#include "paradl/cost/evaluator.hpp"

namespace paradl {

/// Plans to search: every combination of these values. All are in core.
struct Space {
  std::vector<Mesh> meshes;
  std::vector<double> batches;  // samples of a mini-batch
  std::vector<int> micro_batches{1};
  std::vector<PipelineOrder> schedules{{}};
  std::vector<Recomputation> recomputations{{}};
  std::vector<int> zero{0};  // from 0 to most_zero; std::out_of_range for others
  std::vector<bool> sequence_parallel{false};
  Allreduce allreduce = {};

  double size() const;  // number of plans
};

/// Prices every plan of a space that keeps its limits (Evaluator::limits), and calls `visit` with it and its
/// cost, which is that of Evaluator::cost(). Whether it fits the device is left to the visitor. Values that
/// change rarely are computed rarely: mesh and layout outermost, then mini-batch and micro-batches, schedule,
/// ZeRO. Once the evaluator's caches are warm, nothing is allocated for a plan.
void walk(const Evaluator& evaluator, const Space& space, FunctionRef<void(const Plan&, const Cost&)> visit);

}  // namespace paradl
