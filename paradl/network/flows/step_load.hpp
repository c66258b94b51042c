#pragma once
#include <vector>

#include "paradl/network/routes.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

/// What one step asks of the wires if all its flows are under way at once.
struct StepLoad {
  double latency = 0;   // s, of the longest route
  double busy = 0;      // s, for which the busiest wire sends
  double phi = 1;       // how much longer that is than the longest flow would need alone
  int wire = -1;        // the busiest
  bool shared = false;  // some wire carries more than one flow
  /// All flows that meet on a wire would begin together, get the same rate, and end together.
  bool even = true;
};

/// The load of every step, and of every flow the time for which the busiest wire on its route sends.
struct Loads {
  Loads(const Schedule& schedule, const Topology& topology, const Routes& routes);

  std::vector<StepLoad> step;
  std::vector<double> duration;  // s, of each flow

  /// The worst phi, with its wire and step; the time is left open.
  Timing worst() const;
};

}  // namespace paradl
