#include "paradl/plan/plan.hpp"

#include <fmt/format.h>

#include "paradl/strategy/table.hpp"

namespace paradl {

Plan Plan::on(const StrategyName& strategy, const Mesh& other_mesh, double other_batch) const {
  Plan out = *this;
  out.mesh = other_mesh, out.batch = other_batch, out.out_of_core = strategy.out_of_core;
  return out;
}

std::string schedule_text(const Plan& plan) {
  const std::string name(schedule_names[std::size_t(plan.schedule)]);
  return plan.schedule == PipelineSchedule::interleaved ? fmt::format("{}:{}", name, plan.chunks) : name;
}

std::string recompute_text(const Plan& plan) {
  const std::string name(recompute_names[std::size_t(plan.recompute)]);
  return plan.recomputed_blocks < 0 ? name : fmt::format("{}:{}", name, plan.recomputed_blocks);
}

std::string allreduce_text(const Plan& plan) {
  const auto& [algorithm, density] = plan.allreduce;
  if (!algorithm) return {};
  return algorithm->sparse ? fmt::format("{}:{}", algorithm->name, density) : std::string(algorithm->name);
}

}  // namespace paradl
