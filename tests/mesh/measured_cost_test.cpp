// Exchanges on links that were measured, by hand: which range serves a buffer, and what stands in for what.
#include "paradl/mesh/measured_cost.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

namespace paradl::test {
namespace {

// In us, bytes and us per byte: a specified link takes 10 us and nothing for a byte.
constexpr double us = 1e-6;
const double no_end = std::numeric_limits<double>::infinity();

MeasuredLink measured(LinkOperation operation, double from, double below, double alpha, double beta) {
  return {operation, Bytes{from}, Bytes{below}, {Seconds{alpha * us}, SecondsPerByte{beta * us}}};
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
  return path;
}

double time_us(Collective operation, const Machine& machine, const std::vector<double>& sizes, double bytes) {
  return measured_cost(operation, path_of(machine, sizes), machine)(Bytes{bytes}).base() / us;
}

using enum LinkOperation;

TEST_CASE(
    "each range has its own alpha and beta; the last has no end, the first also serves what is smaller") {
  const Machine m =
      machine_with({{measured(allreduce, 8, 1000, 1, 0), measured(allreduce, 1000, no_end, 2, 0.01)}});
  // Four PEs: 2 (p-1) = 6 messages of m/4 bytes.
  CHECK(time_us(Collective::allreduce, m, {4}, 500) == approx(6 * 1));
  CHECK(time_us(Collective::allreduce, m, {4}, 4) == approx(6 * 1));
  CHECK(time_us(Collective::allreduce, m, {4}, 1000) == approx(6 * (2 + 250 * 0.01)));
  CHECK(time_us(Collective::allreduce, m, {4}, 1e6) == approx(6 * (2 + 250e3 * 0.01)));
}

TEST_CASE("the two halves of an allreduce and the whole stand in for each other, as all are rings") {
  const Machine m = machine_with({{measured(reduce_scatter, 8, no_end, 3, 0)}});
  CHECK(time_us(Collective::allgather, m, {4}, 100) == approx(3 * 3));
  CHECK(time_us(Collective::allreduce, m, {4}, 100) == approx(6 * 3));
  // A ring says nothing about single messages: those keep the specified 10 us.
  CHECK(time_us(Collective::point_to_point, m, {4}, 100) == approx(10));
}

TEST_CASE("what was measured itself goes before what may stand in") {
  const Machine m =
      machine_with({{measured(allreduce, 8, no_end, 3, 0), measured(allgather, 8, no_end, 5, 0)}});
  CHECK(time_us(Collective::allgather, m, {4}, 100) == approx(3 * 5));
  CHECK(time_us(Collective::allreduce, m, {4}, 100) == approx(6 * 3));
}

TEST_CASE("a level further out sees the part that is left of a buffer, and takes its range by that") {
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

TEST_CASE("one PE exchanges nothing, whatever was measured") {
  const Machine m = machine_with({{measured(allreduce, 8, no_end, 3, 1)}});
  CHECK(time_us(Collective::allreduce, m, {1}, 1e6) == approx(0));
}

}  // namespace
}  // namespace paradl::test
