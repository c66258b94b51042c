#include "paradl/network/algorithm/multitree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "paradl/network/algorithm.hpp"
#include "paradl/network/fabric.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

const WireSpec wires = [] {
  WireSpec spec;
  spec.link = {.alpha = 0.15_us, .beta = 1.0 / 16.0_GBps};
  return spec;
}();

int steps_on(std::string_view text, int hosts = 0) {
  const auto topology = read_topology(text, wires, hosts);
  return grow_trees(*topology).back().step + 1;
}

TEST_CASE("MULTITREE takes as many steps as its authors' program") {
  CHECK(steps_on("torus:4,4") == 5);
  CHECK(steps_on("torus:6,6") == 10);
  CHECK(steps_on("torus:8,8") == 17);
  CHECK(steps_on("mesh:4,4") <= 10);
  // 32 is the bound: a corner receives 63 pieces over two wires
  CHECK(steps_on("mesh:8,8") <= 33);
  CHECK(steps_on("mesh:8,8") >= 32);
  // one port a host: 63 pieces, one in each step
  CHECK(steps_on("fattree:2;8,8;1,8;1,1") == 63);
  CHECK(steps_on("bigraph:4,16") == 63);
  CHECK(steps_on("bigraph:4,8") == 31);
  CHECK(steps_on("crossbar", 9) == 8);
}

TEST_CASE("no wire is used twice in a step, and every tree spans all hosts") {
  for (const char* text : {"torus:4,4", "mesh:3,4", "torus:3,3,3", "dln:3,1", "bigraph:4,4"}) {
    CAPTURE(text);
    const auto topology = read_topology(text, wires, 0);
    const int P = topology->hosts();
    const bool direct = topology->vertices() == P;    // otherwise each host has one port
    std::vector<int> joined(std::size_t(P * P), -1);  // by root and host: the step after which it has joined
    for (int r = 0; r < P; ++r) joined[std::size_t(r * P + r)] = 0;
    std::set<std::array<int, 3>> sends, takes;
    for (const auto& [root, parent, child, step] : grow_trees(*topology)) {
      CHECK(joined[std::size_t(root * P + parent)] >= 0);
      CHECK(joined[std::size_t(root * P + parent)] <= step);
      CHECK(joined[std::size_t(root * P + child)] == -1);
      joined[std::size_t(root * P + child)] = step + 1;
      CHECK(sends.insert({step, parent, direct ? child : 0}).second);
      CHECK(takes.insert({step, child, direct ? parent : 0}).second);
    }
    CHECK(std::ranges::find(joined, -1) == joined.end());
  }
}

TEST_CASE("MULTITREE gives the right sums on every topology") {
  for (const char* text : {"torus:4,4", "torus:5,3", "mesh:3,4", "mesh:8", "bigraph:2,4", "dln:3,1",
                           "fattree:2;4,4;1,2;1,1", "dragonfly:3,1;2,1;2,1;2"}) {
    CAPTURE(text);
    const auto topology = read_topology(text, wires, 0);
    const int P = topology->hosts();
    const auto seats = read_seats("random:1", P, *topology);
    const Job job{.ranks = P, .bytes = 1.0_MB, .topology = topology.get(), .seats = seats};
    REQUIRE(refusal(*find_algorithm("multitree"), job) == "");
    const Schedule schedule = find_algorithm("multitree")->schedule(job);
    Buffers buffer;
    for (int r = 0; r < P; ++r) {
      auto& mine = buffer.emplace_back();
      for (int i = 0; i < P; ++i) mine.push_back(r * r + i);
    }
    // sum of r^2 + i over all r
    const double squares = double(P - 1) * P * (2 * P - 1) / 6;
    bool correct = true;
    for (const auto& mine : execute(schedule, buffer))
      for (int i = 0; i < P; ++i)
        correct &= std::abs(mine[std::size_t(i)] - (squares + double(P) * i)) < 1e-6;
    CHECK(correct);
  }
}

TEST_CASE("MULTITREE on tori: the gain over ring and 2-D ring if only link bandwidth counts") {
  const auto topology = read_topology("torus:8,8", wires, 0);
  const Job job{.ranks = 64, .bytes = 1.0_GB, .topology = topology.get()};
  const Ways ways{.inner = {}, .outer = {64, wires.link, 1, ""}, .ports = 4};
  const auto time = [&](std::string_view name) {
    return find_algorithm(name)->closed_form(job, ways)(job.bytes);
  };
  // (P-1)/T = 63/17, and 0.875 / (2 * 17/64); published with headers and lockstep: 2.2 to 2.3, and 1.5 to 1.6
  CHECK(time("ring") / time("multitree") == paradl::test::approx(63.0 / 17).epsilon(1e-3));
  CHECK(time("ring-2d") / time("multitree") == paradl::test::approx(1.647).epsilon(1e-3));
}

TEST_CASE("MULTITREE builds its trees on the ranks' hosts, so their order does not matter") {
  for (const char* text : {"torus:4,4", "mesh:3,4", "fattree:2;4,4;1,2;1,1"}) {
    CAPTURE(text);
    const std::shared_ptr<const Topology> topology = read_topology(text, wires, 0);
    const int P = topology->hosts();
    const auto time = [&](const char* placement, NetworkFidelity fidelity) {
      const Fabric fabric{topology, read_seats(placement, P, *topology)};
      const Job job{.ranks = P, .bytes = 1.0_MB, .topology = topology.get(), .seats = fabric.seats};
      return time_of(*find_algorithm("multitree"), job, fabric, fidelity).timing.time.base();
    };
    for (const auto fidelity : {NetworkFidelity::closed_form, NetworkFidelity::link_load})
      for (const char* placement : {"random:1", "random:2", "round-robin:4"})
        CHECK(time(placement, fidelity) == paradl::test::approx(time("consecutive", fidelity)).epsilon(1e-9));
  }
  // one hop a message, no wire used twice: 2 * 5 (0.15 us + 1 MB / 16 / 16 GB/s)
  const std::shared_ptr<const Topology> torus = read_topology("torus:4,4", wires, 0);
  const Fabric fabric{torus, read_seats("random:3", 16, *torus)};
  const Job job{.ranks = 16, .bytes = 1.0_MB, .topology = torus.get(), .seats = fabric.seats};
  const CollectiveTime time =
      time_of(*find_algorithm("multitree"), job, fabric, NetworkFidelity::closed_form);
  CHECK(time.closed_form->base() == paradl::test::approx(10 * (0.15e-6 + 1e6 / 16 / 16e9)).epsilon(1e-9));
  CHECK(time.link_load->base() == paradl::test::approx(time.closed_form->base()).epsilon(1e-9));
}

TEST_CASE("MULTITREE reports its gain by bandwidth, and that its steps belong to two phases") {
  const auto torus = read_topology("torus:8,8", wires, 0);
  const Algorithm& multitree = *find_algorithm("multitree");
  CHECK(multitree.remark({.ranks = 64, .topology = torus.get()}, 34) ==
        "34 steps, 17 to reduce and 17 to broadcast; by bandwidth alone (63/17) 3.7 times as fast as a ring "
        "(published: 2.3, with packet headers and steps in lockstep)");
  const auto small = read_topology("torus:4,4", wires, 0);
  CHECK(multitree.remark({.ranks = 16, .topology = small.get()}, 10) ==
        "10 steps, 5 to reduce and 5 to broadcast; by bandwidth alone (15/5) 3.0 times as fast as a ring");
}

TEST_CASE("MULTITREE needs all hosts of a topology") {
  const auto topology = read_topology("torus:4,4", wires, 0);
  CHECK(refusal(*find_algorithm("multitree"), {.ranks = 8, .topology = topology.get()}) ==
        "needs all 16 hosts of `torus:4,4`, not 8 of them; use `ring`, which takes any number");
}

TEST_CASE("algorithms that use the topology follow its shape") {
  const auto torus = read_topology("torus:8,2", wires, 0);
  // rings of 8 and 2: twice 2 * 7 steps, not twice 2 * 3 as on 4 x 4
  CHECK(
      find_algorithm("ring-2d")->schedule({.ranks = 16, .bytes = 1.0_MB, .topology = torus.get()}).length() ==
      28);
  CHECK(find_algorithm("ring-2d")->schedule({.ranks = 16, .bytes = 1.0_MB}).length() == 12);
  const auto loop = read_topology("dln:2,1", wires, 0), plane = read_topology("dln2d:1,1,1", wires, 0);
  for (const Topology* topology : {loop.get(), plane.get()}) {
    const Job job{.ranks = 8, .bytes = 1.0_MB, .topology = topology};
    REQUIRE(refusal(*find_algorithm("shd"), job) == "");
    // Step 1: hosts 0 and 1 of a switch use different chords
    const Schedule shd = find_algorithm("shd")->schedule(job);
    const auto flows = shd.of(shd.steps[1]);
    CHECK(flows[0].target == 2);
    CHECK(flows[1].target == 5);
  }
  CHECK(refusal(*find_algorithm("shd"), {.ranks = 4, .topology = loop.get()}) ==
        "needs all 8 hosts of `dln:2,1`, not 4 of them; use `hd`, which takes any number");
}

}  // namespace
}  // namespace paradl
