#pragma once
#include <optional>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// GPU-hours, money and energy for some epochs of a projection. What the system file does not say is unknown.
struct Expense {
  double epochs = 1;
  double gpu_hours = 0;
  std::optional<double> price;  // in the currency of the machine's price
  std::optional<double> gpu_joules, host_joules, network_joules;
  bool at_most = false;  // an upper bound: some device without a known idle power counts at its peak
  /// The sum of what is known; nothing if the energy of the GPUs is unknown.
  std::optional<double> joules() const;
};

/// Energy is an estimate: a device that draws `idle` watts at rest and `peak` watts at work draws
/// idle + (peak - idle) u, where u is the share of the time in which GPUs compute. Hosts count by whole
/// nodes.
Expense expense_of(const Projection& projection, const Machine& machine, double epochs);

}  // namespace paradl
