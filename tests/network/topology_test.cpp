#include "paradl/network/topology.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "paradl/core/error.hpp"
#include "tests/support/approx.hpp"

using namespace paradl;

namespace {

const WireSpec edr{.link = {Seconds{500e-9}, 1.0 / Bandwidth{12.5e9}}};

std::unique_ptr<Topology> topology(std::string_view text, const WireSpec& wires = edr) {
  return read_topology(text, wires, 8);
}

/// A route as the vertices on it. Wires that do not follow each other end it with -1.
std::vector<int> way(const Topology& network, int from, int to) {
  std::vector<int> wires, vertices{from};
  network.route(from, to, wires);
  for (const int w : wires) {
    const Wire& wire = network.wires()[std::size_t(w)];
    const bool forth = wire.from == vertices.back(),
               back = network.half_duplex() && wire.to == vertices.back();
    vertices.push_back(forth ? wire.to : back ? wire.from : -1);
  }
  return vertices;
}

using Vertices = std::vector<int>;

const std::string every_kind[] = {"crossbar:6",
                                  "fattree:1;4;1;1",
                                  "fattree:2;4,3;1,2;1,2",
                                  "fattree:3;3,4,2;2,3,2;1,2,3",
                                  "torus:5",
                                  "torus:4,3",
                                  "torus:2,3,4",
                                  "mesh:4,3",
                                  "mesh:2,2,2,2",
                                  "dragonfly:4,1;2,1;4,1;2",
                                  "dragonfly:5,2;2,3;2,1;1",
                                  "bigraph:2,5",
                                  "dln:0,2",
                                  "dln:1,1",
                                  "dln:4,1",
                                  "dln2d:2,3,1",
                                  "dln-random:13,4,2,7",
                                  "torus:2,2/nvlink:4,2",
                                  "crossbar:3/nvswitch:3",
                                  "fattree:2;4,2;1,2;1,1/pcie:5,2",
                                  "tsubame3-authors:11"};

}  // namespace

TEST_CASE("a route leads from source to target over adjacent wires and uses none twice") {
  for (const std::string& text : every_kind)
    for (const bool half_duplex : {false, true}) {
      CAPTURE(text);
      WireSpec wires = edr;
      wires.half_duplex = half_duplex;
      const auto network = topology(text, wires);
      for (int from = 0; from < network->hosts(); ++from)
        for (int to = 0; to < network->hosts(); ++to) {
          const Vertices there = way(*network, from, to);
          const bool connected = there.back() == to && std::ranges::count(there, -1) == 0;
          const bool simple = std::set<int>(there.begin(), there.end()).size() == there.size();
          if (!connected || !simple) FAIL_CHECK("from ", from, " to ", to);
          if (from == to && there.size() != 1) FAIL_CHECK("a host needs no wire to itself");
          if (there.size() != way(*network, to, from).size())
            FAIL_CHECK("the way back is as long: ", from, " ", to);
        }
    }
}

TEST_CASE("full duplex has two wires where half duplex has one") {
  WireSpec half = edr;
  half.half_duplex = true;
  for (const std::string& text : every_kind)
    if (text != "tsubame3-authors:11") {
      CAPTURE(text);
      CHECK(topology(text)->wires().size() == 2 * topology(text, half)->wires().size());
    }
}

TEST_CASE("crossbar: up to the switch and down") {
  const auto network = topology("crossbar");  // of the 8 requested hosts
  CHECK(network->hosts() == 8);
  CHECK(way(*network, 2, 5) == Vertices{2, 8, 5});
}

TEST_CASE("fat tree: the target chooses the way up") {
  // 3 leaves of 4 hosts: vertices 12, 13, 14; 2 roots: 15, 16.
  const auto network = topology("fattree:2;4,3;1,2;1,1");
  CHECK(network->vertices() == 17);
  CHECK(way(*network, 0, 3) == Vertices{0, 12, 3});
  CHECK(way(*network, 0, 4) == Vertices{0, 12, 15, 13, 4});  // 4 mod 2 = 0: the first root
  CHECK(way(*network, 0, 5) == Vertices{0, 12, 16, 13, 5});  // 5 mod 2 = 1: the second
  CHECK(way(*network, 9, 5) == Vertices{9, 14, 16, 13, 5});  // for any sender
  CHECK(way(*network, 5, 9) == Vertices{5, 13, 16, 14, 9});
}

TEST_CASE("fat tree: parallel cables are used in turn") {
  // Two hosts a leaf, one root, two cables from each leaf: messages to 2 use the first, to 3 the second.
  const auto network = topology("fattree:2;2,2;1,1;1,2");
  std::vector<int> to_2, to_3;
  network->route(0, 2, to_2);
  network->route(0, 3, to_3);
  CHECK(to_2[0] == to_3[0]);
  CHECK(to_2[1] != to_3[1]);
  CHECK(way(*network, 0, 2) == Vertices{0, 4, 6, 5, 2});
}

TEST_CASE("torus: dimension by dimension, in the shorter direction") {
  // Host x + 4 y.
  const auto network = topology("torus:4,3");
  CHECK(way(*network, 0, 5) == Vertices{0, 1, 5});        // x first, then y
  CHECK(way(*network, 0, 3) == Vertices{0, 3});           // around
  CHECK(way(*network, 0, 8) == Vertices{0, 8});           // around in y
  CHECK(way(*network, 1, 3) == Vertices{1, 2, 3});        // equally far in both directions: up
  CHECK(way(*network, 3, 1) == Vertices{3, 0, 1});        // up again
  CHECK(way(*network, 2, 0) == Vertices{2, 1, 0});        // but from the middle to 0 down, as in SimGrid
  CHECK(network->wires().size() == 2 * 24);               // 12 cables in each dimension
  CHECK(topology("torus:2,2")->wires().size() == 2 * 4);  // no second cable between two hosts
  CHECK(topology("torus:1,5")->wires().size() == 2 * 5);
}

TEST_CASE("mesh: no wrap-around") {
  const auto network = topology("mesh:4,3");
  CHECK(way(*network, 0, 3) == Vertices{0, 1, 2, 3});
  CHECK(way(*network, 11, 0) == Vertices{11, 10, 9, 8, 4, 0});
  CHECK(network->wires().size() == 2 * (3 * 3 + 4 * 2));
}

TEST_CASE("dragonfly: routes use green, black, then blue cables") {
  // 3 groups of 2 chassis of 4 routers with one host each: host h has router 24 + h.
  const auto network = topology("dragonfly:3,1;2,1;4,1;1");
  CHECK(way(*network, 0, 3) == Vertices{0, 24, 27, 3});      // in a chassis
  CHECK(way(*network, 0, 7) == Vertices{0, 24, 27, 31, 7});  // over to the other chassis
  // Group 0 to group 2: router 2 of group 0 (26) is linked to router 0 of group 2 (40).
  CHECK(way(*network, 5, 23) == Vertices{5, 29, 30, 26, 40, 43, 47, 23});
}

TEST_CASE("dragonfly: routes inside a group are SimGrid's") {
  WireSpec wires = edr;
  wires.routing = Routing::simgrid;
  const auto shortest = topology("dragonfly:3,1;2,1;4,1;1"),
             simgrid = topology("dragonfly:3,1;2,1;4,1;1", wires);
  // From chassis 1 to chassis 1: SimGrid adds the black cable of chassis 0, although the message is not
  // there.
  std::vector<int> few, many;
  shortest->route(4, 7, few);
  simgrid->route(4, 7, many);
  CHECK(few.size() == 3);
  CHECK(many.size() == 4);
  // From chassis 1 to chassis 0 it omits the change of chassis.
  few.clear(), many.clear();
  shortest->route(4, 3, few);
  simgrid->route(4, 3, many);
  CHECK(few.size() == 4);
  CHECK(many.size() == 3);
}

TEST_CASE("dragonfly: several cables are one wire of their joint bandwidth") {
  const auto network = topology("dragonfly:2,3;1,1;2,1;1");
  const auto widest = std::ranges::max(network->wires(), {}, &Wire::cables);
  CHECK(widest.cables == 3);
  CHECK((1.0 / widest.link.beta).base() == paradl::test::approx(37.5e9));
  CHECK(widest.link.alpha == edr.link.alpha);
}

TEST_CASE("bigraph: directly to the other half, or over it and back") {
  // Hosts 0 to 7 on switches 8 9 | 10 11.
  const auto network = topology("bigraph:2,4");
  CHECK(way(*network, 0, 1) == Vertices{0, 8, 1});
  CHECK(way(*network, 0, 6) == Vertices{0, 8, 11, 6});
  CHECK(way(*network, 0, 2) == Vertices{0, 8, 10, 9, 2});
  CHECK(way(*network, 0, 3) == Vertices{0, 8, 11, 9, 3});
}

TEST_CASE("dln: greedy routes, by powers of two in either direction") {
  // 16 switches 16 ... 31 with one host each.
  const auto network = topology("dln:4,0");
  CHECK(way(*network, 0, 8) == Vertices{0, 16, 24, 8});      // 8
  CHECK(way(*network, 0, 7) == Vertices{0, 16, 24, 23, 7});  // 8 - 1
  CHECK(way(*network, 0, 5) == Vertices{0, 16, 20, 21, 5});  // 4 + 1
  CHECK(way(*network, 0, 3) == Vertices{0, 16, 18, 19, 3});  // 2 + 1, as good as 4 - 1
  CHECK(way(*network, 0, 14) == Vertices{0, 16, 30, 14});    // -2
  CHECK(way(*network, 0, 9) == Vertices{0, 16, 24, 25, 9});  // -7 = -8 + 1
  CHECK(network->wires().size() == 2 * (16 + 16 * 7 / 2));   // 2q - 1 = 7 cables a switch
  CHECK(topology("dln2d:2,2,0")->wires().size() == 2 * (16 + 16 * 6 / 2));
}

TEST_CASE("dln: partners of halving-doubling are one hop away, and no route is longer than necessary") {
  const auto network = topology("dln:5,0");
  for (int i = 0; i < 32; ++i)
    for (int k = 1; k < 32; k *= 2) CHECK(way(*network, i, i ^ k).size() == 4);
  // 21 = 16 + 4 + 1 = -11 = -8 - 4 + 1 is the furthest: three hops.
  CHECK(facts_of(*network).diameter == 5);
  std::size_t longest = 0;
  for (int i = 0; i < 32; ++i) longest = std::max(longest, way(*network, 0, i).size());
  CHECK(longest == 6);
}

TEST_CASE("dln-random: a seed always gives the same network") {
  const auto a = topology("dln-random:16,4,2,1"), b = topology("dln-random:16,4,2,1"),
             c = topology("dln-random:16,4,2,2");
  const auto same = [](const Wire& x, const Wire& y) { return x.from == y.from && x.to == y.to; };
  CHECK(std::ranges::equal(a->wires(), b->wires(), same));
  CHECK_FALSE(std::ranges::equal(a->wires(), c->wires(), same));
  // 16 hosts, a ring of 16, 8 chords over 8, 16 over 4, twice 8 random ones.
  CHECK(a->wires().size() == 2 * (16 + 16 + 8 + 16 + 16));
}

TEST_CASE("nodes: GPUs share the ports of their node") {
  // 4 GPUs and 2 ports a node, two nodes: GPUs 0-3, 4-7, ports 8 9 | 10 11, the crossbar's switch 12.
  SUBCASE("nvlink: every GPU is linked to every other") {
    const auto network = topology("crossbar:4/nvlink:4,2");
    CHECK(network->hosts() == 8);
    CHECK(way(*network, 0, 3) == Vertices{0, 3});
    CHECK(way(*network, 1, 4) == Vertices{1, 8, 12, 10, 4});
    CHECK(way(*network, 3, 6) == Vertices{3, 9, 12, 11, 6});
  }
  SUBCASE("nvswitch: over the node's switch") {
    const auto network = topology("crossbar:4/nvswitch:4,2");
    CHECK(way(*network, 0, 3) == Vertices{0, 13, 3});
    CHECK(way(*network, 7, 4) == Vertices{7, 14, 4});
    CHECK(way(*network, 1, 4) == Vertices{1, 8, 12, 10, 4});
  }
  SUBCASE("pcie: two GPUs a switch, one port for each switch") {
    // Bridge 13, switches 14 and 15; bridge 16, switches 17 and 18.
    const auto network = topology("crossbar:4/pcie:4,2");
    CHECK(way(*network, 0, 1) == Vertices{0, 14, 1});
    CHECK(way(*network, 0, 2) == Vertices{0, 14, 13, 15, 2});
    CHECK(way(*network, 0, 7) == Vertices{0, 14, 8, 12, 11, 18, 7});
  }
  SUBCASE("pcie: a port that all share is on the bridge") {
    // Ports 8 9, switch 10; bridge 11, switches 12 and 13; bridge 14, switches 15 and 16.
    const auto network = topology("crossbar:2/pcie:4");
    CHECK(way(*network, 0, 7) == Vertices{0, 12, 11, 8, 10, 9, 14, 16, 7});
  }
  SUBCASE("a crossbar without a number has room for all nodes") {
    CHECK(topology("crossbar/nvlink:4,2")->hosts() == 8);
  }
}

TEST_CASE("nodes: links inside have their own bandwidth") {
  WireSpec wires = edr;
  wires.inside = Link{Seconds{}, 1.0 / Bandwidth{50e9}};
  const auto network = topology("crossbar:2/nvlink:2", wires);
  std::vector<int> inside;
  network->route(0, 1, inside);
  CHECK((1.0 / network->wires()[std::size_t(inside[0])].link.beta).base() == paradl::test::approx(50e9));
}

TEST_CASE("the authors' TSUBAME3: which GPUs share which wires") {
  const auto network = read_topology("tsubame3-authors", edr, 8);
  CHECK(network->hosts() == 256);
  CHECK(network->half_duplex());
  const auto latency = [&](int from, int to) {
    std::vector<int> wires;
    network->route(from, to, wires);
    Seconds sum;
    for (const int w : wires) sum += network->wires()[std::size_t(w)].link.alpha;
    return sum.base();
  };
  CHECK(latency(0, 2) == 0.0);                           // NVLink
  CHECK(latency(0, 4) == paradl::test::approx(452e-9));  // the next node, same leaf: 2 (100 + 26 + 100)
  CHECK(latency(0, 6) ==
        paradl::test::approx(452e-9));  // over NVLink to the GPU on the other leaf, then as before
  CHECK(latency(32, 36) == paradl::test::approx(704e-9));  // nodes 8 and 9 are in two racks
  CHECK(facts_of(*network).switches == 128 + 16 + 1);
}
