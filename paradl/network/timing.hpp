#pragma once
#include <span>

#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// How long a schedule takes on a topology, and what makes it so.
struct Timing {
  Seconds time;
  double phi = 1;  // of the step with the worst contention: flows that share its busiest wire
  int wire = -1;   // that wire; -1: nothing is sent
  int step = -1;   // that step
};

/// Step by step: every step takes its longest latency and the time that its busiest wire needs for all it has
/// to carry. `seats` is the host of each rank.
Timing link_load(const Schedule& schedule, const Topology& topology, std::span<const int> seats);

/// How a simulation may go about it. The answer is the same, but for some ten-thousandths where thousands of
/// flows share wires at once.
enum class Effort {
  least,       // regular steps are added up, flows that are alike go together, repetitions are counted
  every_event  // every message is followed
};

/// Flow by flow: a rank goes on as soon as its own messages are through, and all flows under way share the
/// wires max-min fairly, weighted by the inverse of their latency (as SimGrid's CM02 does). A flow starts
/// when both its ranks are in its step, and waits for its latency before it sends.
Timing simulate_flows(const Schedule& schedule, const Topology& topology, std::span<const int> seats,
                      Effort effort = Effort::least);

}  // namespace paradl
