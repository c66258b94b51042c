#include <algorithm>

#include "paradl/network/flows/flow_simulation.hpp"
#include "paradl/network/flows/lockstep.hpp"
#include "paradl/network/flows/pace.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {
namespace {

/// Short against the longest step.
double moment_of(const Loads& loads, Effort effort) {
  if (effort == Effort::every_event) return 0;
  double longest = 0;
  for (const StepLoad& load : loads.step) longest = std::max(longest, load.busy);
  return 4e-3 * longest;
}

}  // namespace

Timing simulate_flows(const Schedule& schedule, const Topology& topology, std::span<const int> seats,
                      Effort effort) {
  Routes routes(schedule, topology, seats);
  const Loads loads(schedule, topology, routes);
  Lockstep done;
  if (effort == Effort::least) done = run_in_lockstep(schedule, routes, loads, topology.wires().size());
  if (done.step < schedule.steps.size()) {
    std::optional<double> last;
    if (effort == Effort::least) last = run_at_pace(schedule, topology, routes, done.step, done.clock);
    done.clock = last
                     ? *last
                     : FlowSimulation(schedule, topology, std::move(routes), effort, moment_of(loads, effort))
                           .run(done.step, done.clock);
  }
  Timing out = loads.worst();
  out.time = Seconds{done.clock};
  return out;
}

}  // namespace paradl
