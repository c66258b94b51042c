// Topologies built from a system's levels, and optical circuits in addition to a network.

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "paradl/machine/machine.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/topology.hpp"
#include "paradl/network/topology/optical.hpp"
#include "tests/support/approx.hpp"

using namespace paradl;

namespace {

/// ABCI in round numbers: 4 GPUs and 2 ports a node; 6 nodes a rack, with a third of their 12 ports; 2 racks.
Machine two_racks() {
  Machine machine;
  machine.name = "two-racks";
  const Link node{Seconds{9e-6}, 1.0 / Bandwidth{50e9}}, rack{Seconds{40e-6}, 1.0 / Bandwidth{12.5e9}};
  const Link all{Seconds{41e-6}, 1.0 / Bandwidth{12.5e9}};
  machine.levels = {{.name = "node", .gpus = 4, .inside = 1, .link = node, .ports = 1},
                    {.name = "rack", .gpus = 24, .inside = 4, .link = rack, .ports = 2},
                    {.name = "machine", .gpus = 48, .inside = 24, .link = all, .ports = 4}};
  return machine;
}

Seconds latency(const Topology& network, int from, int to) {
  std::vector<int> wires;
  network.route(from, to, wires);
  Seconds sum;
  for (const int w : wires) sum += network.wires()[std::size_t(w)].link.alpha;
  return sum;
}

/// phi of flows of one size: the time of the busiest wire over that of one flow alone.
double phi(const Topology& network, const std::vector<std::pair<int, int>>& flows) {
  std::map<int, int> load;
  double alone = 0;
  std::vector<int> wires;
  for (const auto& [from, to] : flows) {
    wires.clear();
    network.route(from, to, wires);
    for (const int w : wires) {
      ++load[w];
      alone = std::max(alone, network.wires()[std::size_t(w)].link.beta.base());
    }
  }
  double busiest = 0;
  for (const auto& [w, flows_on_it] : load)
    busiest = std::max(busiest, flows_on_it * network.wires()[std::size_t(w)].link.beta.base());
  return busiest / alone;
}

}  // namespace

TEST_CASE("levels: the latency of a message is that of the outermost level it crosses") {
  const auto network = levels_topology(two_racks());
  CHECK(network->hosts() == 48);
  CHECK(network->switches() == 12 + 2 + 1);
  CHECK(latency(*network, 0, 3).base() == paradl::test::approx(9e-6));
  CHECK(latency(*network, 0, 4).base() == paradl::test::approx(40e-6));
  CHECK(latency(*network, 0, 47).base() == paradl::test::approx(41e-6));
  // Two wires for each level.
  std::vector<int> wires;
  network->route(0, 47, wires);
  CHECK(wires.size() == 6);
}

TEST_CASE("levels: on half-duplex levels one wire serves both directions") {
  Machine machine = two_racks();
  machine.half_duplex = true;
  const auto network = levels_topology(machine), full = levels_topology(two_racks());
  CHECK(2 * network->wires().size() == full->wires().size());
  CHECK(latency(*network, 0, 47).base() == paradl::test::approx(41e-6));
  // Both directions at once take twice as long as one.
  CHECK(phi(*full, {{0, 47}, {47, 0}}) == paradl::test::approx(1.0));
  CHECK(phi(*network, {{0, 47}, {47, 0}}) == paradl::test::approx(2.0));
}

TEST_CASE("a machine on a topology: cables inside and between nodes draw the power of their levels") {
  Machine machine = two_racks();
  machine.topology = "torus:4,3";
  machine.levels.pop_back();
  machine.levels[1] = {
      .name = "network", .gpus = 48, .inside = 4, .link = machine.levels[1].link, .ports = 1};
  machine.levels[0].watts = Watts{1, 2};
  machine.levels[1].watts = Watts{8, 9.5};
  const auto network = topology_of(machine);
  const std::size_t between = network->wires_outside();
  CHECK(between == 2 * 2 * 12);  // a torus of 12 has 24 cables of two wires
  CHECK(network->wires()[0].idle == 8);
  CHECK(network->wires()[between - 1].peak == 9.5);
  CHECK(network->wires()[between].idle == 1);
  CHECK(network->wires().back().peak == 2);
}

TEST_CASE("levels: four rings between nodes share two ports") {
  const auto network = levels_topology(two_racks());
  std::vector<std::pair<int, int>> one_ring, four_rings;
  for (int node = 0; node < 12; ++node) {
    one_ring.emplace_back(4 * node, 4 * ((node + 1) % 12));
    for (int ring = 0; ring < 4; ++ring)
      four_rings.emplace_back(4 * node + ring, 4 * ((node + 1) % 12) + ring);
  }
  CHECK(phi(*network, one_ring) == paradl::test::approx(1.0));
  CHECK(phi(*network, four_rings) == paradl::test::approx(2.0));
}

TEST_CASE("levels: all flows that leave a rack share its oversubscribed ports") {
  // Every GPU of rack 0 sends to the same GPU of rack 1: 24 flows on 4 ports.
  const auto network = levels_topology(two_racks());
  std::vector<std::pair<int, int>> flows;
  for (int gpu = 0; gpu < 24; ++gpu) flows.emplace_back(gpu, gpu + 24);
  CHECK(phi(*network, flows) == paradl::test::approx(6.0));
}

TEST_CASE("levels: a fraction of a port is added to the whole ones") {
  Machine machine = two_racks();
  machine.levels[2].ports = 2.5;
  const auto network = levels_topology(machine);
  std::vector<int> wires;
  network->route(0, 47, wires);
  // 2 wires with the bandwidth of 2.5 ports: 15.6 GB/s each.
  CHECK((1.0 / network->wires()[std::size_t(wires[2])].link.beta).base() ==
        paradl::test::approx(12.5e9 * 2.5 / 2));
}

TEST_CASE("optical: large messages between racks have a circuit of their own") {
  const Link electrical{Seconds{1e-6}, 1.0 / Bandwidth{1e9}}, light{Seconds{2e-6}, 1.0 / Bandwidth{10e9}};
  const Optics optics{
      .threshold = Bytes{1e6}, .circuit = light, .hosts = 2, .ports = 1, .reconfiguration = Seconds{1e-3}};
  const OpticalTopology network(read_topology("crossbar:8", {.link = electrical}, 8), optics);
  const auto route = [&](int from, int to, double bytes) {
    std::vector<int> wires;
    network.route(from, to, Bytes{bytes}, wires);
    return wires;
  };
  std::vector<int> packet;
  network.route(0, 7, packet);
  CHECK(route(0, 7, 999999) == packet);
  CHECK(route(0, 7, 1e6) != packet);
  CHECK(route(0, 1, 1e6).size() == 2);  // within a rack: over the crossbar

  Seconds alpha;
  for (const int w : route(0, 7, 1e6)) alpha += network.wires()[std::size_t(w)].link.alpha;
  CHECK(alpha.base() == paradl::test::approx(2e-6));
  // Both hosts of a rack share its circuit; those of other racks have theirs.
  CHECK(route(0, 6, 1e6)[1] == route(1, 7, 1e6)[1]);
  CHECK(route(0, 6, 1e6)[1] != route(2, 6, 1e6)[1]);
}

TEST_CASE("optical: a ring keeps its circuits, halving-doubling changes them") {
  const Link link{Seconds{1e-6}, 1.0 / Bandwidth{1e9}};
  const auto network = [&](int ports) {
    return OpticalTopology(read_topology("crossbar:8", {.link = link}, 8),
                           {.threshold = Bytes{1},
                            .circuit = link,
                            .hosts = 1,
                            .ports = ports,
                            .reconfiguration = Seconds{1e-3}});
  };
  const std::vector<int> seats{0, 1, 2, 3, 4, 5, 6, 7};
  Schedule ring{.ranks = 8, .pieces = 1, .flows = {}, .steps = {}}, halving = ring;
  ring.begin(14);
  for (int i = 0; i < 8; ++i) ring.add({.source = i, .target = (i + 1) % 8, .bytes = Bytes{1e6}});
  for (const int distance : {1, 2, 4, 4, 2, 1}) {
    halving.begin();
    for (int i = 0; i < 8; ++i) halving.add({.source = i, .target = i ^ distance, .bytes = Bytes{1e6}});
  }
  CHECK(reconfiguration_time(ring, network(1), seats) == Seconds{});
  // Six steps, but the two middle ones have the same partners.
  CHECK(reconfiguration_time(halving, network(1), seats).base() == paradl::test::approx(5e-3));
  // With a port for each of the three partners, circuits are set up only once.
  CHECK(reconfiguration_time(halving, network(3), seats) == Seconds{});
}

TEST_CASE(
    "optical: the time of a collective includes setting up circuits, and the topology's text can be read "
    "again") {
  const char* word = "optical:1B,1GB/s,1,1,1ms+crossbar:8";
  const std::shared_ptr<const Topology> network =
      read_topology(word, {.link = {Seconds{}, 1.0 / Bandwidth{1e9}}}, 8);
  CHECK(network->text() == word);
  const Fabric fabric{network, {0, 1, 2, 3, 4, 5, 6, 7}};
  const Job job{.ranks = 8, .bytes = Bytes{8e6}, .topology = network.get()};
  // 4, 2, 1 MB in both phases at 1 GB/s: 14 ms. The two middle ones of six steps have the same partners: 5
  // ms.
  CHECK(time_of(*find_algorithm("hd"), job, fabric, NetworkFidelity::link_load).timing.time.base() ==
        paradl::test::approx(19e-3).epsilon(1e-9));
}
