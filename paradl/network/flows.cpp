#include "paradl/network/flow_simulation.hpp"
#include "paradl/network/lockstep.hpp"
#include "paradl/network/pace.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

Timing simulate_flows(const Schedule& schedule, const Topology& topology, std::span<const int> seats,
                      Effort effort) {
  const Routes routes(schedule, topology, seats);
  const Loads loads(schedule, topology, routes);
  Lockstep done;
  if (effort == Effort::least) done = run_in_lockstep(schedule, routes, loads, topology.wires().size());
  if (done.step < schedule.steps.size()) {
    std::optional<double> last;
    if (effort == Effort::least) last = run_at_pace(schedule, topology, routes, done.step, done.clock);
    done.clock = last ? *last : FlowSimulation(schedule, topology, routes, effort).run(done.step, done.clock);
  }
  Timing out = loads.worst();
  out.time = Seconds{done.clock};
  return out;
}

}  // namespace paradl
