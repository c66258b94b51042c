#include "paradl/network/flows/step_load.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

Timing link_load(const Schedule& schedule, const Topology& topology, std::span<const int> seats) {
  const Routes routes(schedule, topology, seats);
  const Loads loads(schedule, topology, routes);
  Timing out = loads.worst();
  for (std::size_t s = 0; s < schedule.steps.size(); ++s)
    out.time += schedule.steps[s].repeat * Seconds{loads.step[s].latency + loads.step[s].busy};
  return out;
}

}  // namespace paradl
