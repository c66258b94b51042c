#include "paradl/judge/binding.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paradl {
namespace {

/// Rounds up to whole ports, but not because of rounding errors.
double whole(double ports) { return std::ceil(ports - 1e-9); }

std::string_view unit_below(const Machine& machine, int level) {
  return level == 0 ? std::string_view("GPU") : std::string_view(machine.levels[std::size_t(level) - 1].name);
}

Binding counted(const Hop& hop, const Machine& machine) {
  const Level& level = machine.levels[std::size_t(hop.narrow)];
  const std::string_view unit = unit_below(machine, hop.narrow);
  return {.link = fmt::format("{} to {}", unit, level.name),
          .unit = std::string(unit),
          .ports = level.ports,
          .enough = whole(hop.phi * level.ports)};
}

/// A wire of the levels as a tree: "node 3 to rack 0".
Binding in_tree(const Wire& wire, double phi, const Machine& machine) {
  const auto level_of = [&](int& vertex) {  // -1: a GPU; `vertex` becomes the number within the level
    int level = -1;
    for (double units = machine.gpus(); vertex >= units;
         units = machine.gpus() / machine.levels[std::size_t(level)].gpus) {
      vertex -= int(units);
      ++level;
    }
    return level;
  };
  int from = wire.from, to = wire.to;
  const int leaves = level_of(from), enters = level_of(to), narrow = std::max(leaves, enters);
  const double ports = narrow == 0 ? 1 : machine.levels[std::size_t(narrow)].ports;
  return {.link = fmt::format("{} {} to {} {}", unit_below(machine, leaves + 1), from,
                              unit_below(machine, enters + 1), to),
          .unit = std::string(unit_below(machine, narrow)),
          .ports = ports,
          .enough = whole(phi * ports),
          .routed = true};
}

/// A wire of a named topology: "host 3 to switch 1", "port 1 of node 3 to switch 0".
Binding in_network(const Wire& wire, double phi, const Topology& topology, const Machine& machine) {
  const int hosts = topology.hosts(), each = topology.node_size();
  const int ports = each > 1 ? std::clamp(int(machine.levels.back().ports), 1, each) : 0;
  const auto is_port = [&](int v) { return v >= hosts && v < hosts + hosts / each * ports; };
  const auto name = [&](int v) {
    if (v < hosts) return fmt::format("{} {}", each > 1 ? "GPU" : "host", v);
    if (is_port(v)) return fmt::format("port {} of node {}", (v - hosts) % ports, (v - hosts) / ports);
    return fmt::format("switch {}", v - hosts);
  };
  Binding out{.link = fmt::format("{} to {}", name(wire.from), name(wire.to)), .routed = true};
  const bool port = is_port(wire.from) != is_port(wire.to);
  const bool host = (wire.from < hosts) != (wire.to < hosts);
  if (port || (host && each == 1)) {
    out.unit = each > 1 ? "node" : "host";
    out.ports = std::max(1, ports);
  } else {
    out.ports = wire.cables;
  }
  out.enough = whole(phi * out.ports);
  return out;
}

Binding routed(int wire, double phi, const Setting& setting, const Topology& topology) {
  const Wire& bound = topology.wires()[std::size_t(wire)];
  return setting.topology ? in_network(bound, phi, topology, setting.machine)
                          : in_tree(bound, phi, setting.machine);
}

}  // namespace

Binding binding_of(const Hop& hop, const Setting& setting, const Links& links) {
  if (!is_shared(hop.phi)) return {};
  return hop.wire < 0 ? counted(hop, setting.machine) : routed(hop.wire, hop.phi, setting, *links.wires());
}

Binding binding_of(const GradientGroup& group, const Setting& setting, const Links& links) {
  if (group.asked->fidelity == NetworkFidelity::closed_form)
    return binding_of(group.path.outermost(), setting, links);
  const RoutedExchange& exchange = group.asked->exchange;
  if (!is_shared(exchange.phi)) return {};
  Binding out = routed(exchange.wire, exchange.phi, setting, *links.wires());
  if (!exchange.alike) out.step = exchange.step, out.steps = exchange.steps;
  return out;
}

std::string text_of(const Binding& binding, double phi) {
  const auto& [link, unit, ports, enough, routed, step, steps] = binding;
  if (!routed)
    return fmt::format("{:.3g} flows leave a {} through {:.3g} port{}; {:.3g} ports would give φ = 1",
                       phi * ports, unit, ports, ports == 1 ? "" : "s", enough);
  return unit.empty()
             ? fmt::format("flows share the wire from {}; {:.3g} such wires would give φ = 1", link, enough)
             : fmt::format("flows share the port from {}; {:.3g} ports per {} would give φ = 1", link, enough,
                           unit);
}

}  // namespace paradl
