#pragma once
#include "paradl/network/flows/step_load.hpp"

namespace paradl {

/// How far a schedule goes until flows share a wire that begin or end at different times.
struct Lockstep {
  std::size_t step = 0;  // the first step that is not done
  double clock = 0;      // s, when all ranks began it, or when the last rank was done
};

/// Runs a schedule by adding up times, without events. It stops at the first step that is not regular, and
/// returns the last step before it that all ranks begin together.
Lockstep run_in_lockstep(const Schedule& schedule, const Routes& routes, const Loads& loads,
                         std::size_t wires);

}  // namespace paradl
