#include "paradl/network/fabric.hpp"

#include <algorithm>
#include <utility>

#include "paradl/network/measured_cost.hpp"
#include "paradl/network/reach.hpp"
#include "paradl/network/topology/optical.hpp"

namespace paradl {
namespace {

/// Every rank to its counterpart `distance` further on.
Schedule shift(int ranks, int distance) {
  Schedule out;
  out.ranks = ranks;
  out.begin();
  for (int r = 0; r < ranks; ++r)
    out.add({.source = r, .target = (r + distance) % ranks, .bytes = Bytes{1e6}});
  return out;
}

/// The phi of a step if each direction of a cable had its own bandwidth.
double phi_of_directions(const Schedule& schedule, const Fabric& fabric) {
  const auto& wires = fabric.topology->wires();
  std::vector<SecondsPerByte> load(2 * wires.size());
  SecondsPerByte slowest, busiest;
  std::vector<int> route;
  for (const Flow& flow : schedule.of(schedule.steps.front())) {
    route.clear();
    int here = fabric.seats[std::size_t(flow.source)];
    fabric.topology->route(here, fabric.seats[std::size_t(flow.target)], flow.bytes, route);
    for (const int w : route) {
      const Wire& wire = wires[std::size_t(w)];
      const bool forward = wire.from == here;
      here = forward ? wire.to : wire.from;
      SecondsPerByte& sum = load[2 * std::size_t(w) + (forward ? 0 : 1)];
      sum += wire.link.beta;
      slowest = std::max(slowest, wire.link.beta), busiest = std::max(busiest, sum);
    }
  }
  return slowest > SecondsPerByte{} ? busiest / slowest : 1;
}

}  // namespace

std::optional<Collective> measured_as(Operation operation) {
  switch (operation) {
    case Operation::allreduce:
      return Collective::allreduce;
    case Operation::reduce_scatter:
      return Collective::reduce_scatter;
    case Operation::allgather:
      return Collective::allgather;
    case Operation::all_to_all:
      return Collective::all_to_all;
    case Operation::halo:
    case Operation::point_to_point:
      return Collective::point_to_point;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::scatter:
      break;
  }
  return {};
}

Seconds setup_of(const Schedule& schedule, const Topology& topology, std::span<const int> seats) {
  const auto* optical = dynamic_cast<const OpticalTopology*>(&topology);
  return optical ? reconfiguration_time(schedule, *optical, seats) : Seconds{};
}

int hosts_of_a_switch(const Topology& topology) {
  if (topology.node_size() > 1) return topology.node_size();
  const int hosts = topology.hosts();
  std::vector<int> first(std::size_t(hosts), -1);
  for (const Wire& wire : topology.wires()) {
    if (wire.from < hosts && first[std::size_t(wire.from)] < 0) first[std::size_t(wire.from)] = wire.to;
    if (topology.half_duplex() && wire.to < hosts && first[std::size_t(wire.to)] < 0)
      first[std::size_t(wire.to)] = wire.from;
  }
  if (first.empty() || first.front() < hosts) return 1;
  int count = 0;
  while (count < hosts && first[std::size_t(count)] == first.front()) ++count;
  return count == hosts ? 1 : count;
}

Ways ways_of(const Fabric& fabric) {
  const int P = fabric.ranks(), g = std::min(fabric.per_node, P);
  Reach inside, outside;
  for (int r = 1; r < P; ++r) {
    const int seat = fabric.seats[std::size_t(r)];
    (r < g ? inside : outside).add(*fabric.topology, fabric.seats[0], seat);
  }
  Reach around;
  for (int r = 0; r < P; ++r)
    around.add(*fabric.topology, fabric.seats[std::size_t(r)], fabric.seats[std::size_t((r + 1) % P)]);
  Ways ways;
  if (P > 1) ways.next = around.link().alpha;
  ways.inner = {.size = double(g), .link = inside.link(), .phi = 1, .level = "node"};
  ways.outer = {.size = double(P) / g, .link = outside.link(), .phi = 1, .level = "network"};
  if (P > g) {
    const Schedule all = shift(P, g);
    ways.outer.phi = link_load(all, *fabric.topology, fabric.seats).phi;
    if (fabric.topology->half_duplex()) ways.both_ways = ways.outer.phi / phi_of_directions(all, fabric);
  }
  ways.ports = ports_of(*fabric.topology);
  return ways;
}

std::optional<Ways> measured_ways(const Fabric& fabric, const Job& job) {
  const auto operation = measured_as(job.operation);
  if (!fabric.measured || !operation || job.ranks < 2) return {};
  const Machine& machine = *fabric.measured;
  const int g = std::min(job.per_node, job.ranks), nodes = (job.ranks + g - 1) / g;
  const std::size_t last = std::size_t(&machine.spanned_by(job.ranks) - machine.levels.data());
  Ways ways = ways_of(fabric);
  bool any = false;
  // The link of one level for a group with `inside` ranks per node, one of `sisters` such groups.
  const auto look = [&](std::size_t level, double inside, double outside, double sisters, Bytes m) {
    Path path{.hop = {}, .hops = int(level) + 1, .in_node = inside, .sisters = sisters};
    for (std::size_t k = 0; k <= level; ++k) path.hop[k].link = machine.levels[k].link;
    path.hop[level].size = outside;
    if (level > 0) path.hop[0].size = inside;
    return measured_path(*operation, path, machine, m);
  };
  const auto take = [&](Link& link, const Hop& found) {
    if (!found.measured) return;
    link = found.link;
    any = true;
  };
  if (g > 1) take(ways.inner.link, look(0, g, g, 1, job.bytes).hop[0]);
  if (nodes > 1) {
    ways.next.reset();  // of the specified wires
    take(ways.outer.link, look(last, 1, nodes, g, job.bytes / g).hop[last]);
    const Path whole = look(last, g, nodes, 1, job.bytes);
    if (const Hop& hop = whole.hop[last]; hop.measured && whole.hop[0].size == 1 && hop.size == job.ranks) {
      ways.around = Link{hop.link.alpha, hop.phi * hop.link.beta};
      any = true;
    }
  }
  return any ? std::optional(ways) : std::nullopt;
}

Timing timing_of(const Schedule& schedule, const Fabric& fabric, NetworkFidelity fidelity) {
  Timing timing = fidelity == NetworkFidelity::flows
                      ? simulate_flows(schedule, *fabric.topology, fabric.seats)
                      : link_load(schedule, *fabric.topology, fabric.seats);
  timing.time += setup_of(schedule, *fabric.topology, fabric.seats);
  return timing;
}

bool is_small(const Algorithm& algorithm, const Job& job, NetworkFidelity fidelity) {
  const int most = fidelity == NetworkFidelity::flows ? 128 : 512;
  const bool pipelined = algorithm.pipelines(job.operation);
  if (pipelined && double(job.segments) * job.ranks > double(most) * most_segments) return false;
  // The number of messages of all other algorithms grows at most as p log p.
  return job.ranks <= (algorithm.quadratic || pipelined ? most : 65536);
}

CollectiveTime time_of(const Algorithm& algorithm, const Job& job, const Fabric& fabric,
                       NetworkFidelity fidelity) {
  CollectiveTime out;
  Seconds closed_form = algorithm.closed_form(job, ways_of(fabric))(job.bytes);
  // A library's own tables are for specified links, not measured ones.
  if (const auto measured = algorithm.tabulated ? std::nullopt : measured_ways(fabric, job)) {
    out.specified = closed_form;
    closed_form = algorithm.closed_form(job, *measured)(job.bytes);
  }
  out.closed_form = closed_form;
  if (fidelity == NetworkFidelity::closed_form && !is_small(algorithm, job, fidelity)) {
    out.timing = {.time = closed_form};  // without a schedule the number of steps and phi are unknown
    return out;
  }
  const Schedule schedule = algorithm.schedule(job);
  out.steps = schedule.length();
  out.timing = timing_of(schedule, fabric, fidelity);
  out.timing.time += selection_of(algorithm, job) * job.bytes;
  if (fidelity == NetworkFidelity::closed_form) out.link_load = std::exchange(out.timing.time, closed_form);
  out.joules = joules_of(schedule, fabric, out.timing.time);
  return out;
}

std::optional<double> joules_of(const Schedule& schedule, const Fabric& fabric, Seconds time) {
  const auto& wires = fabric.topology->wires();
  if (std::ranges::none_of(wires, [](const Wire& w) { return w.peak > 0; })) return {};
  std::vector<double> busy(wires.size(), -1);  // s; below zero: not in use
  std::vector<int> route;
  for (const Step& step : schedule.steps)
    for (const Flow& flow : schedule.of(step)) {
      route.clear();
      fabric.topology->route(fabric.seats[std::size_t(flow.source)], fabric.seats[std::size_t(flow.target)],
                             flow.bytes, route);
      for (const int w : route) {
        const auto i = std::size_t(w);
        busy[i] = std::max(busy[i], 0.0) + step.repeat * (flow.bytes * wires[i].link.beta).base();
      }
    }
  double joules = 0;
  for (std::size_t w = 0; w < wires.size(); ++w) {
    const auto other = std::size_t(fabric.topology->back(int(w)));
    if (other < w) continue;  // each cable once
    const double active = std::max(busy[w], busy[other]);
    if (active >= 0)
      joules += wires[w].idle * time.base() + (wires[w].peak - wires[w].idle) * std::min(active, time.base());
  }
  return joules;
}

Bandwidth bus_bandwidth(const Job& job, Seconds time) {
  if (!(time > Seconds{})) return {};
  const double p = job.ranks;
  switch (job.operation) {
    case Operation::allreduce:
      return 2 * (p - 1) / p * job.bytes / time;
    case Operation::reduce_scatter:
    case Operation::allgather:
    case Operation::all_to_all:
    case Operation::scatter:
      return (p - 1) / p * job.bytes / time;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::halo:
    case Operation::point_to_point:
      break;
  }
  return job.bytes / time;
}

}  // namespace paradl
