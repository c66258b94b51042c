#pragma once
#include "paradl/network/flows/step_load.hpp"

namespace paradl {

/// How far a schedule goes without anyone having to share a wire with a flow that began or ends at another
/// time.
struct Lockstep {
  std::size_t step = 0;  // the first that is left; all steps are done if there is none
  double clock = 0;      // s, when all ranks began it, or when the last rank was done
};

/// Runs a schedule by adding up, without events. From the first step on that is not regular, or rather from
/// the last one before it that all ranks began together, it has to be simulated.
Lockstep run_in_lockstep(const Schedule& schedule, const Routes& routes, const Loads& loads,
                         std::size_t wires);

}  // namespace paradl
