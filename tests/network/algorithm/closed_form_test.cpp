// Compares closed forms with the steps of the schedules on a crossbar: each rank has one port out and one in,
// and a step takes its start-up and the bytes of the busiest port.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "paradl/network/fabric.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

const Link link{.alpha = 1.0_us, .beta = 1.0 / 1.0_GBps};

Seconds crossbar_time(const Schedule& schedule) {
  Seconds time;
  for (const Step& step : schedule.steps) {
    std::vector<Bytes> out(std::size_t(schedule.ranks)), in(std::size_t(schedule.ranks));
    for (const Flow& flow : schedule.of(step)) {
      out[std::size_t(flow.source)] += flow.bytes;
      in[std::size_t(flow.target)] += flow.bytes;
    }
    const Bytes busiest = std::max(std::ranges::max(out), std::ranges::max(in));
    time += step.repeat * (link.alpha + busiest * link.beta);
  }
  return time;
}

Ways crossbar(const Job& job) {
  return {.inner = {double(job.per_node), link, 1, ""},
          .outer = {double(job.ranks) / job.per_node, link, 1, ""}};
}

template <class Check>
void for_each_job(Check check) {
  for (const Algorithm* algorithm : algorithms())
    for (const Operation operation : algorithm->operations)
      for (int p = 1; p <= 64; p += p < 33 ? 1 : 31)
        for (const int per_node : {1, 2, 4}) {
          const Job job{.operation = operation,
                        .ranks = p,
                        .bytes = 3.0_MB,
                        .per_node = per_node,
                        .segments = 4,
                        .density = 0.01};
          if (p % per_node != 0 || !refusal(*algorithm, job).empty()) continue;
          CAPTURE(algorithm->name);
          CAPTURE(text_of(operation));
          CAPTURE(p);
          CAPTURE(per_node);
          check(*algorithm, job);
        }
}

TEST_CASE("one rank communicates nothing") {
  for_each_job([](const Algorithm& algorithm, const Job& job) {
    if (job.ranks > 1) return;
    CHECK(algorithm.closed_form(job, crossbar(job))(job.bytes) == Seconds{});
    CHECK(algorithm.schedule(job).length() == 0);
  });
}

TEST_CASE("on a crossbar the closed form is the sum of the steps") {
  std::set<std::string_view> exact;
  for_each_job([&](const Algorithm& algorithm, const Job& job) {
    // A double tree has half steps at its roots (tested below), and NCCL has its own times.
    if (algorithm.name == "double-tree" || algorithm.name == "auto") return;
    const double steps = crossbar_time(algorithm.schedule(job)).base();
    CHECK(algorithm.closed_form(job, crossbar(job))(job.bytes).base() ==
          paradl::test::approx(steps).epsilon(1e-9));
    exact.insert(algorithm.name);
  });
  CHECK(exact.size() == 20);  // all except these and multitree, which needs a topology
}

TEST_CASE(
    "a double tree is not slower than its closed form, and a full one at most two half segments faster") {
  for (const int p : {4, 8, 16, 32, 64})
    for (const int segments : {1, 4, 64}) {
      CAPTURE(p);
      CAPTURE(segments);
      const Job job{.ranks = p, .bytes = 3.0_MB, .segments = segments};
      const Algorithm& tree = *find_algorithm("double-tree");
      const Seconds form = tree.closed_form(job, crossbar(job))(job.bytes);
      const Seconds steps = crossbar_time(tree.schedule(job));
      CHECK(steps <= form);
      CHECK(form.base() <=
            paradl::test::approx((steps + job.bytes / segments * link.beta).base()).epsilon(1e-9));
    }
  for (int p = 2; p <= 33; ++p) {
    CAPTURE(p);
    const Job job{.ranks = p, .bytes = 3.0_MB, .segments = 8};
    const Algorithm& tree = *find_algorithm("double-tree");
    CHECK(crossbar_time(tree.schedule(job)).base() <=
          tree.closed_form(job, crossbar(job))(job.bytes).base() * (1 + 1e-12));
  }
}

TEST_CASE("two ranks are the roots of both trees: each step has half a segment, also in the closed form") {
  for (const int segments : {1, 4, 64}) {
    CAPTURE(segments);
    const Job job{.ranks = 2, .bytes = 3.0_MB, .segments = segments};
    const Algorithm& tree = *find_algorithm("double-tree");
    CHECK(tree.closed_form(job, crossbar(job))(job.bytes).base() ==
          paradl::test::approx(crossbar_time(tree.schedule(job)).base()).epsilon(1e-9));
  }
}

TEST_CASE("messages in one direction have all of a half-duplex cable") {
  const std::shared_ptr<const Topology> shared =
      read_topology("crossbar:4", {.link = link, .half_duplex = true}, 4);
  const Fabric fabric{.topology = shared, .seats = {0, 1, 2, 3}, .per_node = 1};
  const auto time = [&](std::string_view name, Operation operation) {
    const Job job{.operation = operation, .ranks = 4, .bytes = 1.0_MB, .topology = shared.get()};
    return time_of(*find_algorithm(name), job, fabric, NetworkFidelity::closed_form);
  };
  // 1 MB at 1 GB/s takes 1 ms, and two wires 2 us. A ring sends and receives at once, so a quarter takes
  // twice as long.
  CHECK(time("direct", Operation::point_to_point).closed_form->base() == paradl::test::approx(1.002e-3));
  CHECK(time("tree", Operation::broadcast).closed_form->base() == paradl::test::approx(2.004e-3));
  CHECK(time("ring", Operation::allreduce).closed_form->base() == paradl::test::approx(6 * 0.502e-3));
  for (const auto& [name, operation] :
       {std::pair{"direct", Operation::point_to_point}, std::pair{"direct", Operation::halo},
        std::pair{"tree", Operation::allreduce}, std::pair{"tree", Operation::broadcast},
        std::pair{"tree", Operation::reduce}, std::pair{"tree", Operation::scatter},
        std::pair{"ps", Operation::allreduce}, std::pair{"ring", Operation::allreduce}}) {
    CAPTURE(name);
    CAPTURE(text_of(operation));
    const CollectiveTime result = time(name, operation);
    CHECK(result.closed_form->base() == paradl::test::approx(result.link_load.value_or(Seconds{}).base()));
  }
}

TEST_CASE("doubling beta doubles the time of the bytes, and doubling alpha the rest") {
  for_each_job([](const Algorithm& algorithm, const Job& job) {
    if (algorithm.name == "auto") return;
    Ways slower = crossbar(job), later = crossbar(job);
    for (Hop* hop : {&slower.inner, &slower.outer}) hop->link.beta *= 2;
    for (Hop* hop : {&later.inner, &later.outer}) hop->link.alpha *= 2;
    const auto time = [&](const Ways& ways) { return algorithm.closed_form(job, ways)(job.bytes).base(); };
    const double base = time(crossbar(job));
    CHECK(time(slower) + time(later) == paradl::test::approx(3 * base).epsilon(1e-9));
  });
}

TEST_CASE("the best number of segments is never slower than a given one") {
  for (const char* name : {"tree-pipelined", "double-tree"})
    for (const double bytes : {1e3, 1e6, 1e9})
      for (const int segments : {1, 4, 64, 1024}) {
        Job job{.ranks = 16, .bytes = Bytes{bytes}, .segments = segments};
        const Seconds result = find_algorithm(name)->closed_form(job, crossbar(job))(job.bytes);
        job.segments = 0;
        CHECK(find_algorithm(name)->closed_form(job, crossbar(job))(job.bytes) <= result);
      }
}

TEST_CASE("the best number of segments is near the square root of (L-1) m beta / alpha") {
  // L = 6 levels, 1 GB at 1 ns/B, 1 us: S* = sqrt(5 * 1e6) = 2236; T* = 2 (sqrt(5 us) + sqrt(1 s))^2
  // = 2.00896 s
  const Job job{.ranks = 64, .bytes = 1.0_GB};
  CHECK(find_algorithm("tree-pipelined")->closed_form(job, crossbar(job))(job.bytes).base() ==
        paradl::test::approx(2.00896).epsilon(1e-4));
}

TEST_CASE("a step of a pipelined tree takes the mean time of its links") {
  // 2 ranks a node (no cost) and 4 nodes: one of 3 address bits is inside a node. S = 3: 2 * 5 rounds of 1 MB
  // at 2/3 us + 2/3 ms
  const Ways ways{.inner = {2, {}, 1, ""}, .outer = {4, link, 1, ""}};
  const Job job{.ranks = 8, .bytes = 3.0_MB, .per_node = 2, .segments = 3};
  CHECK(find_algorithm("tree-pipelined")->closed_form(job, ways)(job.bytes).base() ==
        paradl::test::approx(10 * 2.0 / 3 * 1001e-6).epsilon(1e-9));
}

TEST_CASE("DLN(4,2), 100 MiB, 12.5 GB/s, 500 ns a wire: the times that SimGrid gives") {
  // Two wires between hosts of a switch, three between switches; four hosts share a chord.
  const SecondsPerByte beta = 1.0 / 12.5_GBps;
  const Ways ways{.inner = {4, {1.0_us, beta}, 1, ""}, .outer = {16, {1.5_us, beta}, 4, ""}};
  const auto loop = read_topology("dln:4,2", {.link = {0.5_us, beta}}, 64);
  const Job job{.ranks = 64, .bytes = Bytes{104857600}, .per_node = 4, .topology = loop.get()};
  const auto milliseconds = [&](std::string_view name) {
    return 1e3 * find_algorithm(name)->closed_form(job, ways)(job.bytes).base();
  };
  CHECK(milliseconds("shd") == paradl::test::approx(16.53).epsilon(1e-3));
  CHECK(milliseconds("hd") == paradl::test::approx(28.33).epsilon(1e-3));
  CHECK(milliseconds("hd-far") == paradl::test::approx(63.72).epsilon(1e-3));
  CHECK(milliseconds("ring") == paradl::test::approx(16.70).epsilon(1e-3));
  // DLN(4,3): eight hosts on four chords, where the ring is faster
  const Ways crowded{.inner = {8, {1.0_us, beta}, 1, ""}, .outer = {16, {1.5_us, beta}, 8, ""}};
  const auto larger_loop = read_topology("dln:4,3", {.link = {0.5_us, beta}}, 128);
  const Job larger{.ranks = 128, .bytes = Bytes{104857600}, .per_node = 8, .topology = larger_loop.get()};
  CHECK(1e3 * find_algorithm("shd")->closed_form(larger, crowded)(larger.bytes).base() ==
        paradl::test::approx(18.63).epsilon(1e-3));
  CHECK(1e3 * find_algorithm("ring")->closed_form(larger, crowded)(larger.bytes).base() ==
        paradl::test::approx(17.03).epsilon(1e-3));
  // Without chords, the order of partners changes nothing.
  const Job anywhere{.ranks = 64, .bytes = Bytes{104857600}, .per_node = 4};
  CHECK(find_algorithm("shd")->closed_form(anywhere, ways)(anywhere.bytes) ==
        find_algorithm("hd")->closed_form(anywhere, ways)(anywhere.bytes));
}

TEST_CASE("rings on an 8 x 8 torus: 0.875 of the buffer on each of four wires") {
  Job job{.ranks = 64, .bytes = 1.0_GB};
  Ways ways = crossbar(job);
  ways.ports = 4;
  const Curve curve = find_algorithm("ring-2d")->closed_form(job, ways);
  CHECK((curve(1.0_GB) - curve(0.0_B)).base() == paradl::test::approx(0.875));
}

}  // namespace
}  // namespace paradl
