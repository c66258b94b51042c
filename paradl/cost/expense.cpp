#include "paradl/cost/expense.hpp"

#include <cmath>

namespace paradl {
namespace {

constexpr double seconds_per_hour = 3600;

/// The energy of one device that is busy for the share u of the time.
double joules_of(const Draw& draw, double seconds, double u) {
  const double idle = draw.idle.value_or(draw.peak);
  return (idle + (draw.peak - idle) * u) * seconds;
}

}  // namespace

std::optional<double> Expense::joules() const {
  if (!gpu_joules) return {};
  return *gpu_joules + host_joules.value_or(0) + network_joules.value_or(0);
}

Expense expense_of(const Projection& p, const Machine& machine, double epochs) {
  const double seconds = epochs * p.epoch().base();
  const Cost& cost = *p.cost;
  const double busy = (cost.compute() - cost[Term::bubble]) / cost.iteration();
  Expense out{.epochs = epochs, .gpu_hours = p.gpus * seconds / seconds_per_hour};
  if (machine.price) out.price = out.gpu_hours * machine.price->per_hour;
  const auto add = [&](std::optional<double>& joules, const std::optional<Draw>& draw, double devices) {
    if (!draw) return;
    joules = devices * joules_of(*draw, seconds, busy);
    out.at_most |= !draw->idle.has_value();
  };
  add(out.gpu_joules, machine.device.watts, p.gpus);
  if (machine.host) add(out.host_joules, machine.host->watts, std::ceil(p.gpus / machine.gpus_per_node()));
  if (const auto joules = network_joules(p, machine)) out.network_joules = epochs * p.iterations * *joules;
  return out;
}

}  // namespace paradl
