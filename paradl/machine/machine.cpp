#include "paradl/machine/machine.hpp"

namespace paradl {

const Level& Machine::spanned_by(double p) const {
  for (const Level& level : levels)
    if (p <= level.gpus) return level;
  return levels.back();
}

Machine build_machine(const SystemSpec& spec) {
  Machine machine{.name = spec.name,
                  .device = spec.device,
                  .levels = {},
                  .topology = spec.topology,
                  .half_duplex = spec.half_duplex,
                  .congestion = spec.congestion,
                  .host = spec.host,
                  .node_storage = spec.node_storage,
                  .shared_storage = spec.shared_storage};
  double inside = 1, ports_below = 1;
  int size_below = 1;
  for (const LevelSpec& level : spec.levels) {
    // Further out a unit has the ports of all that is in it, thinned by the taper of the tree.
    const double ports = level.ports.value_or(ports_below * size_below / level.oversubscription);
    machine.levels.push_back({.name = level.name,
                              .gpus = inside * level.size,
                              .inside = inside,
                              .link = {level.latency, 1.0 / level.bandwidth},
                              .ports = ports,
                              .watts = level.watts,
                              .measured = {}});
    for (const MeasuredLinkSpec& m : level.measured)
      machine.levels.back().measured.push_back({.operation = m.operation,
                                                .from = m.from,
                                                .below = m.below,
                                                .link = {m.latency, 1.0 / m.bandwidth}});
    inside *= level.size;
    ports_below = ports;
    size_below = level.size;
  }
  return machine;
}

Machine congested(Machine machine, double factor) {
  const auto slow_down = [factor](Link& link) {
    link.alpha *= factor;
    link.beta *= factor;
  };
  for (std::size_t k = machine.levels.size() > 1 ? 1 : 0; k < machine.levels.size(); ++k) {
    slow_down(machine.levels[k].link);
    for (MeasuredLink& measured : machine.levels[k].measured) slow_down(measured.link);
  }
  return machine;
}

}  // namespace paradl
