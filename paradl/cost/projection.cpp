#include "paradl/cost/projection.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {

double BatchRule::samples(double gpus, const Machine& machine) const {
  switch (per) {
    case Per::whole:
      return value;
    case Per::gpu:
      return value * gpus;
    case Per::node:
      return value * std::ceil(gpus / machine.gpus_per_node());
  }
  return value;
}

double BatchRule::batch(double gpus, const Machine& machine) const {
  return std::ceil(samples(gpus, machine));  // a quarter of a sample a GPU still needs one sample
}

bool Limits::hold() const { return std::ranges::all_of(all(), &Limit::holds); }

std::optional<double> network_joules(const Projection& projection, const Machine& machine) {
  std::optional<double> joules;
  const double T = projection.iteration().base(), busy = projection.cost->communication().base();
  for (const Level& level : machine.levels) {
    const double units =
        std::ceil(projection.gpus / level.inside);  // units of the level below, each with its ports
    if (level.watts && (units > 1 || level.inside <= 1))
      joules = joules.value_or(0) +
               units * level.ports *
                   (level.watts->idle * T + (level.watts->peak - level.watts->idle) * std::min(busy, T));
    if (projection.gpus <= level.gpus) break;
  }
  return joules;
}

double iterations_per_epoch(const Setting& setting, double batch) {
  const double exact = setting.work.D / batch;
  return setting.training.ceil_iterations ? std::ceil(exact) : exact;
}

double full_share(const Setting& setting, double batch) {
  return setting.work.D / batch / iterations_per_epoch(setting, batch);
}

Seconds serial_time(const Setting& setting, double iterations) {
  Seconds per_sample, update;
  for (const LayerTime& t : setting.times.layer) {
    per_sample += t.FW + t.BW;
    update += t.WU;
  }
  return setting.work.D / iterations * per_sample + update;
}

void add_input(Projection& projection, const Setting& setting) {
  const Plan& plan = projection.plan;
  const InputCost& input = projection.input.emplace(
      price_input(setting, plan.mesh, plan.batch, projection.iterations, projection.iteration()));
  if (input.known) (*projection.cost)[Term::io] = input.exposed();
  const auto& node = setting.machine.node_storage;
  if (input.kept_by_node > Bytes{} && node && node->capacity)
    projection.limits.add(
        {.rule = LimitRule::storage, .value = input.kept_by_node.base(), .bound = node->capacity->base()});
}

void finish(Projection& projection, const Setting& setting) {
  const Bytes need = projection.cost->memory.total();
  projection.limits.add(
      {.rule = LimitRule::memory, .value = need.base(), .bound = setting.machine.device.memory.base()});
}

}  // namespace paradl
