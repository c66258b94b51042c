#pragma once
#include <vector>

#include "paradl/network/routes.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

/// The load of one step if all its flows are active at once.
struct StepLoad {
  double latency = 0;   // s, of the longest route
  double busy = 0;      // s, the time for which the busiest wire sends
  double phi = 1;       // that time, over the time of the longest flow alone
  int wire = -1;        // the busiest
  bool shared = false;  // some wire carries more than one flow
  /// All flows that share a wire begin together, get the same rate, and end together.
  bool even = true;
};

/// The load of every step, and for every flow the time for which the busiest wire of its route sends.
struct Loads {
  Loads(const Schedule& schedule, const Topology& topology, const Routes& routes);

  std::vector<StepLoad> step;
  std::vector<double> duration;  // s, of each flow

  /// The worst phi, with its wire and step; the time is not set.
  Timing worst() const;
};

}  // namespace paradl
