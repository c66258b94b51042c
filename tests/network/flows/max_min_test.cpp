#include "paradl/network/flows/max_min.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/network.hpp"
#include "tests/support/simgrid.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

/// Progressive filling as in textbooks: all flows and wires, from the start.
std::vector<double> fair_rates(const Topology& network, const Routes& routes,
                               const std::vector<bool>& under_way) {
  std::vector<double> left, rate(under_way.size());
  for (const Wire& wire : network.wires()) left.push_back(1 / wire.link.beta.base());
  std::vector<bool> waiting = under_way;
  while (std::ranges::count(waiting, true) > 0) {
    std::vector<double> weight(left.size());
    for (std::size_t f = 0; f < rate.size(); ++f)
      for (const int w : routes.of(f)) weight[std::size_t(w)] += waiting[f] ? 1 / routes.route[f].latency : 0;
    std::size_t full = 0;
    double level = 1e300;
    for (std::size_t w = 0; w < left.size(); ++w)
      if (weight[w] > 0 && left[w] / weight[w] < level) {
        full = w;
        level = left[w] / weight[w];
      }
    for (std::size_t f = 0; f < rate.size(); ++f) {
      if (!waiting[f] || !std::ranges::count(routes.of(f), int(full))) continue;
      rate[f] = level / routes.route[f].latency;
      waiting[f] = false;
      for (const int w : routes.of(f)) left[std::size_t(w)] -= rate[f];
    }
  }
  return rate;
}

/// A step of random messages; wires of three speeds and latencies.
struct Random {
  std::mt19937 random;
  Drawn network{40};
  Schedule schedule;
  explicit Random(unsigned seed) : random(seed) {
    const int wires = 4 + int(random() % 20);
    for (int w = 0; w < wires; ++w) network.wire(1 + double(random() % 3), 1 << random() % 3);
    schedule.ranks = 40;
    schedule.begin();
    for (int f = 0; f < 40; ++f) {
      std::vector<int> way = in_order(wires);
      std::ranges::shuffle(way, random);
      way.resize(1 + random() % 4);
      network.way(f, (f + 1) % 40, way);
      schedule.add(message(f, (f + 1) % 40, 1));
    }
  }
};

}  // namespace

TEST_CASE("law: incremental updates give the same rates as a computation from scratch") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random r(seed);
    const Routes routes(r.schedule, r.network, in_order(40));
    MaxMin rates(r.network, routes);
    std::vector<bool> under_way(40);
    for (int round = 0; round < 60; ++round) {
      for (unsigned n = 1 + unsigned(r.random() % 5); n > 0; --n) {
        const auto f = std::uint32_t(r.random() % 40);
        under_way[f] ? rates.leave(f) : rates.enter(f);
        under_way[f] = !under_way[f];
      }
      rates.settle();
      const std::vector<double> fair = fair_rates(r.network, routes, under_way);
      for (std::uint32_t f = 0; f < 40; ++f)
        if (under_way[f]) REQUIRE(rates.rate(f) == paradl::test::approx(fair[f]).epsilon(1e-9));
    }
  }
}

TEST_CASE("only flows whose rate changes are reported") {
  const auto line = network_of("mesh:4");
  const Schedule s = schedule_of(4, {{{message(0, 1, 1), message(2, 3, 1), message(0, 1, 1)}}});
  const Routes routes(s, *line, in_order(4));
  MaxMin rates(*line, routes);
  rates.enter(0);
  rates.enter(1);
  CHECK(rates.settle().size() == 2);
  rates.enter(2);
  CHECK(rates.settle().size() == 2);  // the two that now share a wire
  CHECK(rates.rate(0) == paradl::test::approx(0.5e9));
  CHECK(rates.rate(1) == paradl::test::approx(1e9));
  rates.leave(2);
  CHECK(rates.settle().size() == 1);
  CHECK(rates.settle().empty());
}
