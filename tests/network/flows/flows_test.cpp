#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/network.hpp"
#include "tests/support/simgrid.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

/// The time in microseconds; both kinds of simulation must agree.
double simulated(const Schedule& schedule, const Topology& topology) {
  const std::vector<int> seats = in_order(schedule.ranks);
  const double quick = microseconds(simulate_flows(schedule, topology, seats));
  CHECK(quick ==
        paradl::test::approx(microseconds(simulate_flows(schedule, topology, seats, Effort::every_event)))
            .epsilon(1e-9));
  return quick;
}

/// Whether a change in the 13th digit of sizes becomes visible. On such a schedule two orders of summation
/// need not agree.
bool is_chaotic(const Schedule& schedule, const Topology& topology) {
  const auto time = [&](double change) {
    Schedule changed = schedule;
    for (Flow& flow : changed.flows) flow.bytes = (1 + change * (flow.source * 5 % 7)) * flow.bytes;
    return microseconds(simulate_flows(changed, topology, in_order(schedule.ranks), Effort::every_event));
  };
  const double exact = time(0);
  return std::max(std::abs(time(1e-13) - exact), std::abs(time(3e-13) - exact)) > 1e-10 * exact;
}

const std::vector<std::string> networks = {"crossbar:12",
                                           "mesh:12",
                                           "torus:4,3",
                                           "fattree:2;4,3;1,2;1,1",
                                           "fattree:2;5,3;1,3;1,2",
                                           "fattree:3;3,2,2;1,2,2;1,1,1",
                                           "dragonfly:2,1;2,1;3,1;1",
                                           "bigraph:3,4",
                                           "dln:2,2"};

template <class Law>
void on_random_schedules(Law law) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string& word = networks[random() % networks.size()];
    const auto network = network_of(word);
    const Schedule schedule = random_schedule(random, std::min(network->hosts(), 2 + int(random() % 15)));
    CAPTURE(i);
    CAPTURE(word);
    law(schedule, *network, word);
  }
}

}  // namespace

TEST_CASE("a message takes the latency of its route, then the time of its bytes") {
  const auto line = network_of("mesh:4");
  CHECK(simulated(schedule_of(4, {{{message(0, 3, 10)}}}), *line) == paradl::test::approx(3 + 10));
  CHECK(simulated(schedule_of(4, {{{message(0, 3, 10)}, 7}}), *line) == paradl::test::approx(7 * (3 + 10)));
  CHECK(simulated(schedule_of(4, {{{message(0, 3, 0)}}}), *line) == paradl::test::approx(3));
}

TEST_CASE("nothing to send takes no time") {
  const auto star = network_of("crossbar", 2);
  CHECK(simulated(schedule_of(2, {}), *star) == 0);
  CHECK(simulated(schedule_of(2, {{{}, 3}, {{message(1, 1, 10)}, 4}}), *star) == 0);
  CHECK(simulate_flows(schedule_of(2, {}), *star, in_order(2)).wire == -1);
}

TEST_CASE("flows on one wire share it by the inverse of their latency") {
  // Both cross the wire from 2 to 3. The shorter route sends 1 kB alone, then two thirds of a gigabyte per
  // second: 9 kB until 15.5 us. Then its sender sends 100 kB over two wires in the other direction.
  const auto line = network_of("mesh:5");
  const std::vector<Flow> both = {message(1, 3, 10), message(2, 3, 10)};
  CHECK(simulated(schedule_of(5, {{both}, {{message(2, 0, 100)}}}), *line) ==
        paradl::test::approx(15.5 + 2 + 100));
  CHECK(simulated(schedule_of(5, {{both}}), *line) ==
        paradl::test::approx(1 + 20));  // the wire is never idle
}

TEST_CASE("a chain: the long flow gets the bandwidth that both short ones leave") {
  const auto line = network_of("mesh:3");
  const Schedule s = schedule_of(3, {{{message(0, 2, 10), message(0, 1, 10), message(1, 2, 10)}}});
  // The short flows are alone for 1 us. Then both wires are shared 1 : 2 until 15.5 us, when 5.5 kB are left.
  CHECK(simulated(s, *line) == paradl::test::approx(15.5 + 5.5));
}

TEST_CASE("bandwidth that a flow cannot use because of a narrow wire goes to other flows") {
  Drawn drawn(3);
  const int wide = drawn.wire(1, 1), narrow = drawn.wire(1, 0.1), thin = drawn.wire(1, 1);
  drawn.way(0, 2, {wide, narrow});
  drawn.way(1, 2, {wide, thin});
  // The narrow wire lets 0.1 GB/s through; 0.9 GB/s are left on the wide one.
  CHECK(simulated(schedule_of(3, {{{message(0, 2, 10), message(1, 2, 90)}}}), drawn) ==
        paradl::test::approx(2 + 100));
}

TEST_CASE("equal flows that share a wire need not end together") {
  // Three cross b; one of them also crosses a, and leaves two thirds of it to the first flow: 10 kB in 15 us.
  Drawn drawn(8);
  const int a = drawn.wire(1, 1), b = drawn.wire(1, 1), c = drawn.wire(1, 1);
  drawn.way(0, 1, {a, c});
  drawn.way(2, 3, {a, b});
  drawn.way(4, 5, {b, drawn.wire(1, 1)});
  drawn.way(6, 7, {b, drawn.wire(1, 1)});
  drawn.way(1, 0, {c});
  const std::vector<Flow> flows = {message(0, 1, 10), message(2, 3, 10), message(4, 5, 10),
                                   message(6, 7, 10)};
  CHECK(simulated(schedule_of(8, {{flows}}), drawn) == paradl::test::approx(2 + 30));
  CHECK(simulated(schedule_of(8, {{flows}, {{message(1, 0, 100)}}}), drawn) ==
        paradl::test::approx(2 + 15 + 1 + 100));
}

TEST_CASE("a rank continues when its own messages have arrived") {
  const auto star = network_of("crossbar", 4);
  const Schedule s =
      schedule_of(4, {{{message(0, 1, 10), message(2, 3, 20)}}, {{message(0, 1, 20), message(2, 3, 10)}}});
  CHECK(simulated(s, *star) == paradl::test::approx(2 * 2 + 30));
  CHECK(microseconds(link_load(s, *star, in_order(4))) == paradl::test::approx(2 * 2 + 40));
}

TEST_CASE("a message waits for its sender and its receiver") {
  const auto star = network_of("crossbar", 3);
  const Schedule s = schedule_of(3, {{{message(0, 1, 10)}}, {{message(1, 2, 10)}}, {{message(2, 0, 10)}}});
  CHECK(simulated(s, *star) == paradl::test::approx(3 * (2 + 10)));
}

TEST_CASE("a ring is as slow as its slowest neighbours") {
  // Two leaves of four: 2 us inside, 4 us between them.
  const auto tree = network_of("fattree:2;4,2;1,4;1,1");
  std::vector<Flow> flows;
  for (int r = 0; r < 8; ++r) flows.push_back(message(r, (r + 1) % 8, 10));
  CHECK(simulated(schedule_of(8, {{flows, 1000}}), *tree) == paradl::test::approx(1000 * (4 + 10)));
}

TEST_CASE("phi, wire and step are those of the link-load model") {
  on_random_schedules([](const Schedule& schedule, const Topology& network, const std::string&) {
    const Timing load = link_load(schedule, network, in_order(schedule.ranks));
    const Timing flows = simulate_flows(schedule, network, in_order(schedule.ranks));
    CHECK(flows.phi == load.phi);
    CHECK(flows.wire == load.wire);
    CHECK(flows.step == load.step);
  });
}

TEST_CASE("law: shortcuts for regular steps and repetitions change nothing") {
  on_random_schedules([](const Schedule& schedule, const Topology& network, const std::string&) {
    simulated(schedule, network);
  });
}

TEST_CASE("law: long repetitions with contention have the right time") {
  for (const char* word : {"dragonfly:4,1;2,1;4,1;2", "fattree:2;8,8;1,3;1,1", "mesh:8,8"}) {
    CAPTURE(word);
    const auto network = network_of(word);
    for (const int distance : {1, 2, 5, 12, 16}) {
      CAPTURE(distance);
      std::vector<Flow> flows;
      for (int r = 0; r < 64; ++r) flows.push_back(message(r, (r + distance) % 64, 20));
      const auto repeated = [&](int often) {
        return schedule_of(64, {{flows, often}, {{message(0, 1, 5)}}, {flows, often / 4}});
      };
      const bool chaotic = distance == 12 && network->switches() == 32;  // the dragonfly
      if (chaotic) CHECK(is_chaotic(repeated(200), *network));
      simulated(repeated(chaotic ? 40 : 200), *network);
    }
  }
}

TEST_CASE("law: a ring in which a few flows share wires is as slow as these") {
  // Each pair of neighbours has its own route, of any latency. A few routes also use one of two common wires.
  std::mt19937 random(3);
  const auto below = [&random](int n) { return int(random() % unsigned(n)); };
  int compared = 0;
  for (int i = 0; i < 30; ++i) {
    CAPTURE(i);
    const int ranks = 24 + below(60), meeting = 2 + below(ranks / 8 - 1);
    Drawn drawn(ranks);
    const int common[] = {drawn.wire(1, 1), drawn.wire(0.5, 2)};
    std::vector<int> shared = in_order(ranks);
    std::ranges::shuffle(shared, random);
    shared.resize(std::size_t(meeting));
    std::vector<Flow> flows;
    for (int r = 0; r < ranks; ++r) {
      std::vector<int> way{drawn.wire(1 + 0.25 * below(8), 1)};
      if (std::ranges::count(shared, r)) way.push_back(common[i % 3 == 0 ? below(2) : 0]);
      drawn.way(r, (r + 1) % ranks, way);
      flows.push_back(message(r, (r + 1) % ranks, 8));
    }
    for (const int repeat : {3, 150, 900}) {
      const Schedule schedule = schedule_of(ranks, {{flows, repeat}, {flows, repeat / 2}});
      if (is_chaotic(schedule, drawn)) continue;
      simulated(schedule, drawn);
      ++compared;
    }
  }
  CHECK(compared > 60);
}

TEST_CASE("law: equal flows are treated separately when one of their ranks is late") {
  // Nodes of four GPUs on a router: their messages to another node are equal, but a few start later.
  std::mt19937 random(4);
  const auto network = network_of("dragonfly:4,1;2,1;4,1;4");
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const int ranks = network->hosts();
    std::vector<Messages> steps;
    for (int bit = 1; bit < ranks; bit *= 2) {
      steps.push_back({});
      for (int r = 0; r < ranks; ++r) steps.back().flows.push_back(message(r, r ^ bit, 20));
      if (random() % 3 == 0) steps.push_back({{message(int(random() % 64), 64 + int(random() % 64), 3)}});
    }
    simulated(schedule_of(ranks, steps), *network);
  }
}

TEST_CASE("law: thousands of concurrent flows are simulated with an error of at most two ten-thousandths") {
  const auto network = network_of("dragonfly:4,1;2,1;4,1;4");
  std::mt19937 random(5);
  std::vector<Flow> flows;
  for (int f = 0; f < 6000; ++f)
    flows.push_back(message(int(random() % 128), int(random() % 128), 1 + int(random() % 1000)));
  const Schedule schedule = schedule_of(128, {{flows}, {{message(0, 127, 100)}}});
  const double quick = microseconds(simulate_flows(schedule, *network, in_order(128)));
  const double exact = microseconds(simulate_flows(schedule, *network, in_order(128), Effort::every_event));
  CHECK(quick == paradl::test::approx(exact).epsilon(2e-4));
}

TEST_CASE("law: if all times of a network are k times as long, the result is k times as long") {
  on_random_schedules([](const Schedule& schedule, const Topology& network, const std::string& word) {
    const double k = 3;
    const auto slower =
        network_of(word, 0, {.link = {k * plain_wires().link.alpha, k * plain_wires().link.beta}});
    CHECK(simulated(schedule, *slower) ==
          paradl::test::approx(k * simulated(schedule, network)).epsilon(1e-6));
  });
}

TEST_CASE("law: without latency, twice the bandwidth halves the time") {
  on_random_schedules([](const Schedule& schedule, const Topology&, const std::string& word) {
    const auto slow = network_of(word, 0, {.link = {Seconds{}, SecondsPerByte{2e-9}}});
    const auto fast = network_of(word, 0, {.link = {Seconds{}, SecondsPerByte{1e-9}}});
    CHECK(simulated(schedule, *slow) == paradl::test::approx(2 * simulated(schedule, *fast)).epsilon(1e-6));
  });
}

TEST_CASE("law: the time is at least that of each wire for its bytes") {
  on_random_schedules([](const Schedule& schedule, const Topology& network, const std::string&) {
    std::vector<double> busy(network.wires().size());
    std::vector<int> route;
    for (const Step& step : schedule.steps)
      for (const Flow& flow : schedule.of(step)) {
        route.clear();
        network.route(flow.source, flow.target, route);
        for (const int w : route) busy[std::size_t(w)] += 1e-3 * step.repeat * flow.bytes.base();  // us
      }
    CHECK(simulated(schedule, network) >= *std::ranges::max_element(busy) * (1 - 1e-9));
  });
}

TEST_CASE("law: on a crossbar the names of ranks do not matter") {
  std::mt19937 random(2);
  const auto star = network_of("crossbar", 12);
  for (int i = 0; i < 50; ++i) {
    const Schedule schedule = random_schedule(random, 12);
    std::vector<int> name = in_order(12);
    std::ranges::shuffle(name, random);
    Schedule renamed = schedule;
    for (Flow& flow : renamed.flows) {
      flow.source = name[std::size_t(flow.source)];
      flow.target = name[std::size_t(flow.target)];
    }
    CHECK(simulated(renamed, *star) == paradl::test::approx(simulated(schedule, *star)).epsilon(1e-6));
  }
}

TEST_CASE("one rank sends nothing") {
  const auto star = network_of("crossbar", 1);
  CHECK(simulated(SimgridSchedule(in_order(1), 1e6).ring(), *star) == 0);
}
