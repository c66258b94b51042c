#pragma once
#include <span>

#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// The time of a schedule on a topology, and its worst contention.
struct Timing {
  Seconds time;
  double phi = 1;  // flows that share the busiest wire of the step with the worst contention
  int wire = -1;   // that wire; -1: nothing is sent
  int step = -1;   // that step
};

/// Step by step: every step takes its longest latency plus the time that its busiest wire needs for all its
/// flows. `seats` is the host of each rank.
Timing link_load(const Schedule& schedule, const Topology& topology, std::span<const int> seats);

/// How thoroughly flows are simulated. Results agree within some ten-thousandths, and exactly unless
/// thousands of flows share wires at once.
enum class Effort {
  least,       // adds up regular steps, simulates equal flows as one, and skips repetitions
  every_event  // simulates every message
};

/// Flow by flow: a rank begins its next step when its own messages are complete. Active flows share wires
/// with max-min fairness, weighted by the inverse of their latency (as in SimGrid's CM02). A flow starts when
/// both its ranks are in its step, and waits for its latency before it sends.
Timing simulate_flows(const Schedule& schedule, const Topology& topology, std::span<const int> seats,
                      Effort effort = Effort::least);

}  // namespace paradl
