// Random plans of all strategies and their hybrids, for laws that hold for every plan.
#pragma once
#include <random>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/question.hpp"

namespace paradl::test {

class RandomPlans {
 public:
  explicit RandomPlans(const Workload& work, unsigned seed = 1) : work_(work), random_(seed) {}

  /// The plan may break limits: see Evaluator::limits().
  Plan next() {
    static const std::vector<const char*> names{
        "serial",       "data",          "spatial",        "layer",       "filter",
        "channel",      "tensor",        "data+layer",     "data+filter", "data+spatial",
        "data+channel", "data+tensor",   "layer+tensor",   "data+layer+tensor",
        "data+context", "context+tensor", "data+layer+context", "data+spatial+filter"};
    const StrategyName strategy = read_strategy(names[below(names.size())]);
    std::vector<Parts> sizes;
    double gpus = 1;
    for (std::size_t a = 0; a < strategy.axes.size(); ++a) {
      sizes.push_back({.total = 1 << (1 + below(3))});
      gpus *= sizes.back().total;
    }
    Plan plan;
    const auto grids = strategy.axes.empty() ? std::vector{Mesh{}}
                                             : meshes(strategy, sizes, std::max(1, work_.input.dims));
    plan.mesh = grids[below(grids.size())];
    plan.micro_batches = 1 << below(5);
    plan.batch = gpus * plan.micro_batches * double(1 + below(3));
    plan.schedule = PipelineSchedule(below(3));
    plan.chunks = plan.schedule == PipelineSchedule::interleaved ? 2 : 1;
    plan.zero = int(below(4));
    plan.recompute = Recompute(below(3));
    if (plan.recompute == Recompute::full && below(2)) plan.recomputed_blocks = int(1 + below(4));
    plan.sequence_parallel = work_.tokens && below(2);
    return plan;
  }

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

 private:
  const Workload& work_;
  std::mt19937 random_;
};

}  // namespace paradl::test
