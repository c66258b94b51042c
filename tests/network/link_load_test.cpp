#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/network.hpp"
#include "tests/support/simgrid.hpp"

using namespace paradl;
using namespace paradl::test;

TEST_CASE("a step takes its longest latency and the time of its busiest wire") {
  // Hosts in a line. The route from 0 to 2 has two wires; the second one carries both messages.
  const auto line = network_of("mesh:3");
  const Schedule s = schedule_of(3, {{{message(0, 2, 10), message(1, 2, 30)}}});
  const Timing timing = link_load(s, *line, in_order(3));
  CHECK(microseconds(timing) == paradl::test::approx(2 + 40));
  CHECK(timing.phi == paradl::test::approx(40.0 / 30));  // a third longer than the larger message alone
  CHECK(line->wires()[std::size_t(timing.wire)].from == 1);
  CHECK(line->wires()[std::size_t(timing.wire)].to == 2);
  CHECK(timing.step == 0);
}

TEST_CASE("steps and repetitions add up; phi is that of the worst step") {
  const auto line = network_of("mesh:4");
  const Schedule s = schedule_of(4, {{{message(0, 1, 10)}, 5}, {{message(0, 2, 10), message(1, 3, 10)}, 2}});
  const Timing timing = link_load(s, *line, in_order(4));
  CHECK(microseconds(timing) == paradl::test::approx(5 * (1 + 10) + 2 * (2 + 20)));
  CHECK(timing.phi == paradl::test::approx(2));
  CHECK(timing.step == 1);
}

TEST_CASE("each wire has its own bandwidth") {
  Drawn drawn(3);
  const int wide = drawn.wire(1, 10), narrow = drawn.wire(1, 1);
  drawn.way(0, 2, {wide, narrow});
  drawn.way(1, 2, {wide});
  const Schedule s = schedule_of(3, {{{message(0, 2, 10), message(1, 2, 10)}}});
  const Timing timing = link_load(s, drawn, in_order(3));
  CHECK(microseconds(timing) == paradl::test::approx(2 + 10));  // the wide wire needs 2 us for both
  CHECK(timing.wire == narrow);
  CHECK(timing.phi == paradl::test::approx(1));
}

TEST_CASE("nothing to send takes no time") {
  const auto star = network_of("crossbar", 2);
  for (const Schedule& s :
       {schedule_of(2, {}), schedule_of(2, {{{}, 3}}), schedule_of(2, {{{message(1, 1, 10)}}})}) {
    const Timing timing = link_load(s, *star, in_order(2));
    CHECK(timing.time.base() == 0);
    CHECK(timing.wire == -1);
    CHECK(timing.phi == 1);
  }
}

TEST_CASE("ranks are on the hosts of their seats") {
  const auto line = network_of("mesh:4");
  const Schedule s = schedule_of(2, {{{message(0, 1, 10)}}});
  CHECK(microseconds(link_load(s, *line, std::vector{0, 1})) == paradl::test::approx(1 + 10));
  CHECK(microseconds(link_load(s, *line, std::vector{3, 0})) == paradl::test::approx(3 + 10));
}

TEST_CASE("known cases of contention are found") {
  const double N = 100 * 0x1p20, b = 1 / 12.5e9;
  const auto load = [](const std::string& word, int ranks, const Schedule& s) {
    return link_load(s, *read_topology(word, simgrid_wires(), ranks), in_order(ranks));
  };
  SUBCASE("halving-doubling on a torus: flows of a block all cross its middle") {
    const Timing t = load("torus:8,8", 64, SimgridSchedule(in_order(64), N).halving_doubling());
    CHECK(t.phi == paradl::test::approx(4));
    CHECK(t.time.base() == paradl::test::approx(N * b * 3.375 + 2 * 2 * 7 * 500e-9).epsilon(1e-3));
  }
  SUBCASE("on DLN(4,2) all hosts of a switch use one chord; with shifted partners each has its own") {
    CHECK(load("dln:4,2", 64, SimgridSchedule(in_order(64), N).halving_doubling()).phi ==
          paradl::test::approx(4));
    CHECK(load("dln:4,2", 64, SimgridSchedule(in_order(64), N).shifted_halving_doubling(4, 2)).phi ==
          paradl::test::approx(1));
  }
  SUBCASE("a ring fits a tapered fat tree") {
    CHECK(load("fattree:2;24,3;1,8;1,1", 64, SimgridSchedule(in_order(64), N).ring()).phi ==
          paradl::test::approx(1));
  }
}
