// Exchanges on measured links, by hand: which range applies to a buffer, and which measurement replaces a
// missing one.
#include "paradl/network/measured_cost.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

namespace paradl::test {
namespace {

// In us, bytes and us per byte: a specified link has 10 us of latency and no time per byte.
constexpr double us = 1e-6;
const double no_end = std::numeric_limits<double>::infinity();

MeasuredLink measured(Collective operation, double from, double below, double alpha, double beta) {
  return {operation, {}, Bytes{from}, Bytes{below}, {Seconds{alpha * us}, SecondsPerByte{beta * us}}};
}

/// One range for all sizes, as measured on a group.
MeasuredLink on(MeasuredGroup group, Collective operation, double alpha, double beta = 0) {
  MeasuredLink link = measured(operation, 0, no_end, alpha, beta);
  link.group = group;
  return link;
}

Machine machine_with(std::vector<std::vector<MeasuredLink>> levels) {
  Machine machine{.name = "test"};
  double gpus = 1;
  for (const auto& links : levels) {
    machine.levels.push_back({.name = "level",
                              .gpus = 4 * gpus,
                              .inside = gpus,
                              .link = {Seconds{10 * us}, SecondsPerByte{0}},
                              .ports = gpus,
                              .measured = links});
    gpus *= 4;
  }
  return machine;
}

Path path_of(const Machine& machine, std::vector<double> sizes) {
  Path path;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    path.hop[k] = {.size = sizes[k], .link = machine.levels[k].link};
  path.hops = int(sizes.size());
  path.in_node = sizes.front();
  return path;
}

double time_us(Collective operation, const Machine& machine, const std::vector<double>& sizes, double bytes) {
  return MeasuredCost(operation, path_of(machine, sizes), machine)(Bytes{bytes}).base() / us;
}

using enum Collective;

TEST_CASE(
    "each range has its own alpha and beta; the last has no end, and the first includes smaller buffers") {
  const Machine m =
      machine_with({{measured(allreduce, 8, 1000, 1, 0), measured(allreduce, 1000, no_end, 2, 0.01)}});
  // Four GPUs: 2 (p-1) = 6 messages of m/4 bytes.
  CHECK(time_us(Collective::allreduce, m, {4}, 500) == approx(6 * 1));
  CHECK(time_us(Collective::allreduce, m, {4}, 4) == approx(6 * 1));
  CHECK(time_us(Collective::allreduce, m, {4}, 1000) == approx(6 * (2 + 250 * 0.01)));
  CHECK(time_us(Collective::allreduce, m, {4}, 1e6) == approx(6 * (2 + 250e3 * 0.01)));
}

TEST_CASE("an allreduce and its two halves replace each other if one is missing, because all are rings") {
  const Machine m = machine_with({{measured(reduce_scatter, 8, no_end, 3, 0)}});
  CHECK(time_us(Collective::allgather, m, {4}, 100) == approx(3 * 3));
  CHECK(time_us(Collective::allreduce, m, {4}, 100) == approx(6 * 3));
  // A ring says nothing about single messages: those keep the specified 10 us.
  CHECK(time_us(Collective::point_to_point, m, {4}, 100) == approx(10));
}

TEST_CASE("a measurement of the operation itself comes first") {
  const Machine m =
      machine_with({{measured(allreduce, 8, no_end, 3, 0), measured(allgather, 8, no_end, 5, 0)}});
  CHECK(time_us(Collective::allgather, m, {4}, 100) == approx(3 * 5));
  CHECK(time_us(Collective::allreduce, m, {4}, 100) == approx(6 * 3));
}

TEST_CASE("an outer level carries a part of the buffer, whose size selects its range") {
  const Machine m =
      machine_with({{measured(allreduce, 8, no_end, 1, 0)},
                    {measured(allreduce, 8, 1000, 2, 0), measured(allreduce, 1000, no_end, 7, 0)}});
  // 2000 bytes: 500 of them reach the outer level of four groups of four.
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 2000) == approx(6 * 1 + 6 * 2));
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 4000) == approx(6 * 1 + 6 * 7));
}

TEST_CASE("a level that was not measured keeps its specified link") {
  const Machine m = machine_with({{}, {measured(allreduce, 8, no_end, 2, 0)}});
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 4000) == approx(6 * 10 + 6 * 2));
  CHECK(has_measured_links(m));
  CHECK_FALSE(has_measured_links(machine_with({{}, {}})));
}

TEST_CASE("one GPU exchanges nothing, whatever was measured") {
  const Machine m = machine_with({{measured(allreduce, 8, no_end, 3, 1)}});
  CHECK(time_us(Collective::allreduce, m, {1}, 1e6) == approx(0));
}

TEST_CASE("a group of a measured size uses its own numbers, others use those without a group") {
  const Machine m =
      machine_with({{on({4}, allreduce, 1), on({2}, allreduce, 5), measured(allreduce, 0, no_end, 7, 0)}});
  CHECK(time_us(Collective::allreduce, m, {4}, 100) == approx(6 * 1));
  CHECK(time_us(Collective::allreduce, m, {2}, 100) == approx(2 * 5));
  CHECK(time_us(Collective::allreduce, m, {3}, 100) == approx(4 * 7));
}

TEST_CASE("between two measured groups alpha and beta follow the power law through both") {
  // Four GPUs are half way from two to eight: sqrt(1 * 4) = 2, sqrt(0.04 * 0.01) = 0.02.
  const Machine m = machine_with({{on({2}, allgather, 1, 0.04), on({8}, allgather, 4, 0.01)}});
  CHECK(time_us(Collective::allgather, m, {4}, 400) == approx(3 * (2 + 100 * 0.02)));
  // There is no power law through zero: take the mean.
  const Machine flat = machine_with({{on({2}, allgather, 0), on({8}, allgather, 4)}});
  CHECK(time_us(Collective::allgather, flat, {4}, 400) == approx(3 * 2));
}

TEST_CASE(
    "beyond the measured groups, start-ups grow with the logarithm of the size, and bytes as in a ring") {
  const Machine small = machine_with({{on({2}, allreduce, 3, 0.01)}});
  // Two messages of 3 us on two GPUs; four GPUs are twice as many doublings.
  CHECK(time_us(Collective::allreduce, small, {4}, 400) == approx(2 * (2 * 3) + 6 * 100 * 0.01));
  const Machine large = machine_with({{on({8}, allgather, 3, 0.01)}});
  // Seven messages of 3 us on eight GPUs; a third of the doublings.
  CHECK(time_us(Collective::allgather, large, {2}, 400) == approx(7 * 3 / 3.0 + 200 * 0.01));
}

TEST_CASE("within a node, a measurement of another operation is not faster than the specified links") {
  Machine m = machine_with({{on({4}, allreduce, 1, 0.01)}});
  m.levels[0].link.beta = SecondsPerByte{0.02 * us};
  CHECK(time_us(Collective::allreduce, m, {4}, 400) == approx(6 * (1 + 100 * 0.01)));  // as measured
  CHECK(time_us(Collective::allgather, m, {4}, 400) == approx(3 * (1 + 100 * 0.02)));
}

TEST_CASE("between two groups, each size combines the ranges of both at that size") {
  Machine m = machine_with({{on({2}, allgather, 1), on({8}, allgather, 4)}});
  MeasuredLink above = on({8}, allgather, 16);
  above.from = Bytes{1000};
  m.levels[0].measured[1].below = Bytes{1000};
  m.levels[0].measured.push_back(above);
  CHECK(time_us(Collective::allgather, m, {4}, 999) == approx(3 * 2));   // sqrt(1 * 4)
  CHECK(time_us(Collective::allgather, m, {4}, 1000) == approx(3 * 4));  // sqrt(1 * 16)
}

TEST_CASE("a measurement on whole nodes is one ring through all its GPUs") {
  // Eight GPUs on two nodes: 2 (8-1) messages of m/8, whatever the links of the levels are.
  const Machine m =
      machine_with({{on({4}, allreduce, 100)}, {on({8, 2}, allreduce, 2, 0.01), on({2, 2}, allreduce, 50)}});
  CHECK(time_us(Collective::allreduce, m, {4, 2}, 800) == approx(14 * (2 + 100 * 0.01)));
  // Its halves are rings of the same links.
  CHECK(time_us(Collective::allgather, m, {4, 2}, 800) == approx(7 * (2 + 100 * 0.01)));
  // One GPU on each of two nodes was measured too.
  CHECK(time_us(Collective::allreduce, m, {1, 2}, 800) == approx(2 * 50));
  // Two GPUs a node were not: a ring in each node (half the doublings of four GPUs), and between the nodes.
  CHECK(time_us(Collective::allreduce, m, {2, 2}, 800) == approx(6 * 100 / 2 + 2 * 50));
  // A single message has no group, and none was measured.
  CHECK(time_us(Collective::point_to_point, m, {4, 2}, 800) == approx(10));
}

TEST_CASE("a measurement with one GPU a node is the ring between nodes, for a node's part of the buffer") {
  const Machine m = machine_with({{}, {on({4, 4}, allreduce, 2, 0.01)}});
  // 2 (4-1) specified messages of 10 us inside; outside 2 (4-1) of 1600/4/4 bytes.
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 1600) == approx(6 * 10 + 6 * (2 + 100 * 0.01)));
}

TEST_CASE(
    "on more nodes than measured, start-ups of an allreduce grow as in a tree, and others as in a ring") {
  const Machine m = machine_with({{}, {on({8, 2}, allreduce, 3, 0.01)}});
  // 14 messages of 3 us on 8 GPUs; 16 GPUs are one more doubling after three.
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 0) == approx(14 * 3 * 4.0 / 3));
  const Machine gather = machine_with({{}, {on({8, 2}, allgather, 3, 0.01)}});
  CHECK(time_us(Collective::allgather, gather, {4, 4}, 0) == approx(15 * 3));
}

TEST_CASE(
    "on more nodes than measured, a byte takes as long, plus the ports' time for the bytes that leave a "
    "node in addition") {
  Machine m = machine_with({{}, {on({8, 2}, allreduce, 0, 0.01), on({8, 2}, allgather, 0, 0.01)}});
  // 14 messages of 1600/8 bytes on the 8 GPUs of 2 nodes; ports that take no time add nothing.
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 1600) == approx(14 * 200 * 0.01));
  // Four ports of 0.04 us a byte. Of an allreduce 2 (4-1)/4 of the buffer leave a node of four, not 2
  // (2-1)/2.
  m.levels[1].link.beta = SecondsPerByte{0.04 * us};
  CHECK(time_us(Collective::allreduce, m, {4, 4}, 1600) == approx(14 * 200 * 0.01 + 0.5 * 1600 * 0.01));
  CHECK(time_us(Collective::allgather, m, {4, 4}, 1600) == approx(7 * 200 * 0.01 + 0.25 * 1600 * 0.01));
  CHECK(time_us(Collective::allreduce, m, {4, 2}, 1600) == approx(14 * 200 * 0.01));  // as measured
}

TEST_CASE("within a node, groups that were not measured are not faster than the specified links") {
  Machine m = machine_with({{on({4}, allreduce, 0, 0.01)}});
  m.levels[0].link.beta = SecondsPerByte{0.02 * us};
  CHECK(time_us(Collective::allreduce, m, {4}, 400) == approx(6 * 100 * 0.01));
  CHECK(time_us(Collective::allreduce, m, {2}, 400) == approx(2 * 200 * 0.02));
}

TEST_CASE("across nodes, a measurement of another operation is not faster than the links within nodes") {
  Machine m = machine_with({{}, {on({8, 2}, allreduce, 0, 0.01)}});
  m.levels[0].link.beta = SecondsPerByte{0.02 * us};
  CHECK(time_us(Collective::allreduce, m, {4, 2}, 800) == approx(14 * 100 * 0.01));
  CHECK(time_us(Collective::allgather, m, {4, 2}, 800) == approx(7 * 100 * 0.02));
}

TEST_CASE("a level names the operation whose links are used") {
  const Machine m = machine_with({{on({4}, allreduce, 1), on({2}, point_to_point, 1)}});
  CHECK(taken_from(m.levels[0], allreduce) == allreduce);
  CHECK(taken_from(m.levels[0], allgather) == allreduce);
  CHECK(taken_from(m.levels[0], all_to_all) == point_to_point);
  CHECK_FALSE(taken_from(machine_with({{}}).levels[0], allreduce));
}

TEST_CASE("sister groups share the ports of a node") {
  // Four GPUs and two ports a node. A group with two GPUs on a node would have both ports if it were alone.
  Machine m = machine_with({{}, {on({4, 2}, allreduce, 0, 0.01)}});
  m.levels[1].ports = 2;
  Path path = path_of(m, {2, 2});
  const auto time = [&] { return MeasuredCost(Collective::allreduce, path, m)(Bytes{400}).base() / us; };
  CHECK(time() == approx(6 * 100 * 0.01));
  path.sisters = 2;  // four flows on two ports
  CHECK(time() == approx(6 * 100 * 0.02));
}

TEST_CASE("a path says which of its levels are measured") {
  const Machine m = machine_with({{on({4}, allreduce, 1)}, {}});
  const Path path = measured_path(Collective::allreduce, path_of(m, {4, 4}), m, Bytes{100});
  CHECK(path.hop[0].measured);
  CHECK_FALSE(path.hop[1].measured);
}

}  // namespace
}  // namespace paradl::test
