#include "paradl/plan/plan.hpp"

#include <fmt/format.h>

#include "paradl/core/memo.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {

Plan Plan::on(const StrategyName& strategy, const Mesh& other_mesh, double other_batch) const {
  Plan out = *this;
  out.mesh = other_mesh, out.batch = other_batch, out.out_of_core = strategy.out_of_core;
  return out;
}

StrategyName strategy_of(const Plan& plan) {
  std::vector<const Strategy*> axes;
  for (const Axis& axis : plan.mesh.all()) axes.push_back(axis.strategy);
  const StrategyName out = hybrid(std::move(axes));
  return plan.out_of_core ? out_of_core(out) : out;
}

double local_samples(const Plan& plan) {
  double samples = plan.batch;
  for (int a = 0; a < plan.mesh.axes; ++a)
    if (const Axis& axis = plan.mesh.axis[std::size_t(a)]; axis.strategy->input == Placement::split_sample)
      samples /= axis.parts.total;
  return samples;
}

Plan without_ones(Plan plan) {
  plan.mesh = without_ones(plan.mesh);
  return plan;
}

std::size_t PlanHash::operator()(const Plan& plan) const {
  std::array<double, most_axes + 4> key{plan.batch, double(plan.micro_batches), double(plan.chunks),
                                        double(plan.zero)};
  for (int a = 0; a < plan.mesh.axes; ++a)
    key[std::size_t(4 + a)] = plan.mesh.axis[std::size_t(a)].parts.total;
  return BytesHash{}(key);
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
