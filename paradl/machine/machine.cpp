#include "paradl/machine/machine.hpp"

#include <algorithm>

namespace paradl {

const Level& Machine::spanned_by(double p) const {
  for (const Level& level : levels)
    if (p <= level.gpus) return level;
  return levels.back();
}

Machine build_machine(const SystemSpec& spec) {
  Machine machine{.name = spec.name,
                  .file = spec.source.file,
                  .device = spec.device,
                  .levels = {},
                  .topology = spec.topology,
                  .half_duplex = spec.half_duplex,
                  .congestion = spec.congestion,
                  .host = spec.host,
                  .node_storage = spec.node_storage,
                  .shared_storage = spec.shared_storage,
                  .price = spec.price};
  double inside = 1, ports_below = 1;
  int size_below = 1;
  for (const LevelSpec& level : spec.levels) {
    // On outer levels a unit has the ports of everything in it, divided by the oversubscription.
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
                                                .group = m.group,
                                                .from = m.from,
                                                .below = m.below,
                                                .link = {m.latency, 1.0 / m.bandwidth}});
    inside *= level.size;
    ports_below = ports;
    size_below = level.size;
  }
  return machine;
}

Machine without_measured_links(Machine machine) {
  for (Level& level : machine.levels) level.measured.clear();
  if (machine.host) machine.host->staged.reset();
  return machine;
}

SecondsPerByte staged_copy(const Machine& machine) {
  if (machine.host && machine.host->staged) return 1.0 / machine.host->staged->copies;
  if (machine.host && machine.host->bandwidth) return 1.0 / *machine.host->bandwidth;
  throw UsageError(
      "the host bandwidth of " + machine.name + " is unknown (exchanges would go through the host)",
      "add host: {bandwidth: 16 GB/s} to the system file, or --set host.bandwidth=16GB/s");
}

Link staged_message(const Machine& machine, const Link& link) {
  if (machine.host && machine.host->staged)
    return {machine.host->staged->latency, 1.0 / machine.host->staged->bandwidth};
  return {link.alpha, link.beta + 2.0 * staged_copy(machine)};
}

bool knows_host(const Machine& machine) {
  return machine.host && machine.host->memory && machine.host->bandwidth;
}

HostShare host_share(const Machine& machine, double gpus) {
  if (!machine.host || !machine.host->bandwidth)
    throw UsageError("the host bandwidth of " + machine.name + " is unknown",
                     "add host: {bandwidth: 16 GB/s} to its system file, or --set host.bandwidth=16GB/s");
  if (!machine.host->memory)
    throw UsageError("the host memory of " + machine.name + " is unknown",
                     "add host: {memory: 384 GiB} to its system file, or --set host.memory=384GiB");
  const HostSpec& host = *machine.host;
  const double here = std::min(gpus, machine.gpus_per_node());
  HostShare share{.link = *host.bandwidth / std::min(host.shared_by, here),
                  .memory = *host.memory / here,
                  .memory_bandwidth = {},
                  .gpus = here};
  if (host.memory_bandwidth) {
    share.memory_bandwidth = *host.memory_bandwidth / here;
    share.link = std::min(share.link, *share.memory_bandwidth / 2);  // copies go both ways at once
  }
  share.link = std::min(share.link, machine.device.memory_bandwidth / 2);
  return share;
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
