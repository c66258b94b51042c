#pragma once
#include <optional>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// What so many epochs of a projection use up. What the system file does not tell stays unknown.
struct Expense {
  double epochs = 1;
  double gpu_hours = 0;
  std::optional<double> price;  // in the currency of the machine's price
  std::optional<double> gpu_joules, host_joules, network_joules;
  bool at_most = false;  // something is counted at its peak all the time, as nobody says what it draws idle
  /// All that is known; nothing if not even the GPUs are.
  std::optional<double> joules() const;
};

/// Energy is an estimate: what draws `idle` watts at rest and `peak` at work draws idle + (peak - idle) u,
/// where u is the share of the time in which GPUs compute. Hosts count by whole nodes.
Expense expense_of(const Projection& projection, const Machine& machine, double epochs);

}  // namespace paradl
