// A system's levels as a tree of switches. GPU -> node -> rack -> machine, say:
//
//   level k's unit   the switch that joins all units of level k - 1 in it (level -1: GPUs)
//   wires            a GPU has one to its node; a unit of level k - 1 has level k's `ports`, on its link
//
// A level's latency is that of a whole message. Each wire of a level gets half of what the level adds to
// the one below, so that the sum up and down again is exact for every level.

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/machine/machine.hpp"
#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

class Levels : public Topology {
 public:
  explicit Levels(const Machine& machine)
      : Topology(machine.name, int(machine.gpus()), 0, machine.half_duplex) {
    Seconds below;
    int first_below = 0;  // vertex of the first unit of the level below
    for (const Level& level : machine.levels) {
      Tier& tier = tiers_.emplace_back();
      tier.gpus = int(level.gpus);
      tier.inside = int(level.inside);
      // A taper may leave part of a port: as many wires as there are whole ones share the bandwidth of all,
      // so that one message is never slower than its own port.
      const double ports = tiers_.size() == 1 ? 1 : level.ports;
      tier.ports = std::max(1, int(ports + 1e-9));
      const Link link{0.5 * (level.link.alpha - below), level.link.beta * (tier.ports / ports)};
      below = level.link.alpha;

      tier.first_wire = int(wires_.size());
      for (int unit = 0; unit < hosts_ / tier.inside; ++unit)
        for (int port = 0; port < tier.ports; ++port)
          add_cable(first_below + unit, vertices_ + unit * tier.inside / tier.gpus, link);
      if (level.watts)
        for (std::size_t w = std::size_t(tier.first_wire); w < wires_.size(); ++w)
          wires_[w].idle = level.watts->idle, wires_[w].peak = level.watts->peak;
      first_below = vertices_;
      vertices_ += hosts_ / tier.gpus;
    }
  }

  int node_size() const override { return tiers_.front().gpus; }
  bool is_of_levels() const override { return true; }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    std::size_t top = 0;
    while (from / tiers_[top].gpus != to / tiers_[top].gpus) ++top;
    climb(from, top, wires);
    const auto turn = wires.size();
    climb(to, top, wires);
    std::reverse(wires.begin() + std::ptrdiff_t(turn), wires.end());
    for (auto wire = wires.begin() + std::ptrdiff_t(turn); wire != wires.end(); ++wire) *wire = back(*wire);
  }

  std::vector<Place> places() const override {
    std::vector<Place> places;
    const double floor = 1 + hosts_ / 12.0;
    for (int host = 0; host < hosts_; ++host) places.push_back({double(host), floor * double(tiers_.size())});
    for (std::size_t k = 0; k < tiers_.size(); ++k)
      for (int unit = 0; unit < hosts_ / tiers_[k].gpus; ++unit)
        places.push_back({(unit + 0.5) * tiers_[k].gpus - 0.5, floor * double(tiers_.size() - k - 1)});
    return places;
  }

 private:
  struct Tier {
    int gpus = 1, inside = 1, ports = 1, first_wire = 0;
  };

  /// The wires from a GPU up to its unit of tier `top`.
  void climb(int gpu, std::size_t top, std::vector<int>& wires) const {
    int lane = 0;  // the port below, counted over all units of the unit above
    for (std::size_t k = 0; k <= top; ++k) {
      const Tier& tier = tiers_[k];
      const int unit = gpu / tier.inside;
      // In a node neighbours share a port, as cabled; switches spread flows over their ports, as routed.
      const int port =
          k == 1 ? int(std::int64_t(gpu % tier.inside) * tier.ports / tier.inside) : lane % tier.ports;
      wires.push_back(tier.first_wire + (half_duplex_ ? 1 : 2) * (unit * tier.ports + port));
      const int units = tier.gpus / tier.inside;
      lane = unit % units * tier.ports + port;
    }
  }

  std::vector<Tier> tiers_;
};

}  // namespace

std::unique_ptr<Topology> levels_topology(const Machine& machine) {
  TopologyWord word{.text = machine.name, .kind = {}, .groups = {}, .form = {}};
  double vertices = machine.gpus(), cables = machine.gpus();
  for (const Level& level : machine.levels) {
    vertices += machine.gpus() / level.gpus;
    cables += machine.gpus() / level.inside * level.ports;
  }
  word.limit(vertices, cables);
  return std::make_unique<Levels>(machine);
}

std::unique_ptr<Topology> topology_of(const Machine& machine) {
  if (machine.topology.empty()) return nullptr;
  const Level &node = machine.levels.front(), &network = machine.levels.back();
  const WireSpec wires{.link = network.link, .half_duplex = machine.half_duplex, .inside = node.link};
  const int gpus = int(machine.gpus()), each = int(node.gpus);
  const bool nodes = machine.levels.size() > 1 && each > 1;
  const int ports = std::clamp(int(network.ports), 1, each);
  auto topology = read_topology(
      nodes ? fmt::format("{}/nvswitch:{},{}", machine.topology, each, ports) : machine.topology, wires,
      gpus);
  if (topology->hosts() < gpus)
    throw UsageError(fmt::format("{}: the topology {} has room for {} GPUs, and the levels have {}",
                                 machine.name, machine.topology, topology->hosts(), gpus),
                     "make the sizes of the levels and the topology agree");
  topology->set_watts(network.watts.value_or(Watts{}), node.watts.value_or(Watts{}));
  return topology;
}

}  // namespace paradl
