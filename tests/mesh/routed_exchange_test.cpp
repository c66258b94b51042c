// The cost of an algorithm when all groups of a strategy use it at once, with every message routed.
#include "paradl/mesh/routed_exchange.hpp"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "paradl/mesh/routed.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/timing.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/network.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

Mesh mesh_of(const std::string& strategy, const std::string& grid) {
  return Bench::mesh(read_strategy(strategy), grid);
}

int ranks_of(const Mesh& mesh, AxisSet set) { return int(member_offsets(mesh, set).size()); }

Job sum_over(const Mesh& mesh, AxisSet set, const Topology* topology = nullptr, int per_node = 1) {
  return {.ranks = ranks_of(mesh, set), .per_node = per_node, .topology = topology};
}

RoutedExchange routed(const char* algorithm, const Mesh& mesh, AxisSet set, const Topology& topology,
                      int per_node = 1) {
  const auto out = route_exchange(*find_algorithm(algorithm), sum_over(mesh, set, &topology, per_node), mesh,
                                  set, topology);
  REQUIRE(out);
  return *out;
}

/// Microseconds for a buffer of `kilobytes`; wires have a latency of 1 us and take 1 us for a kilobyte.
double us(const RoutedExchange& exchange, double kB) { return exchange.time(Bytes{kB * 1e3}).base() * 1e6; }

TEST_CASE("halving-doubling on a torus of 4 x 4, by hand") {
  // Partners are 1, 2, 4, 8 apart: one hop in a row of four, two hops in the row, one hop in the column, two
  // hops in the column. With two hops in a ring of four, both pairs use the same wires: phi = 2. For m kB, in
  // us:
  //   2 [(1 + m/2) + (2 + 2 m/4) + (1 + m/8) + (2 + 2 m/16)] = 12 + 2.5 m
  const auto torus = network_of("torus:4,4");
  const RoutedExchange all = routed("hd", mesh_of("data", "16"), axis_bit(0), *torus);
  CHECK(us(all, 0) == paradl::test::approx(12));
  CHECK(us(all, 80) == paradl::test::approx(12 + 2.5 * 80));
  CHECK(all.phi == paradl::test::approx(2));
  CHECK(all.step == 2);
  CHECK(all.steps == 8);
  CHECK_FALSE(all.alike);
}

TEST_CASE("halving-doubling on a torus of 2 x 2, by hand") {
  // Every rank has a wire to both partners: 2 [(1 + m/2) + (1 + m/4)] = 4 + 1.5 m
  const auto torus = network_of("torus:2,2");
  const RoutedExchange all = routed("hd", mesh_of("data", "4"), axis_bit(0), *torus);
  CHECK(us(all, 80) == paradl::test::approx(4 + 1.5 * 80));
  CHECK(all.phi == paradl::test::approx(1));
  CHECK(all.alike);
}

TEST_CASE("groups slow each other down only on shared wires, by hand") {
  const auto torus = network_of("torus:4,4");
  // Four groups, each a column (or a row) of its own: 2 [(1 + m/2) + (2 + 2 m/4)] = 6 + 2 m
  const Mesh square = mesh_of("data+filter", "4x4");
  for (const int axis : {0, 1})
    CHECK(us(routed("hd", square, axis_bit(axis), *torus), 80) == paradl::test::approx(6 + 2 * 80));
  // Two groups of eight share all rows. First both use two hops of each row, phi = 2. Then they use one and
  // two hops of columns, which they do not share: 2 [(2 + 2 m/2) + (1 + m/4) + (2 + 2 m/8)] = 10 + 3 m
  const Mesh pairs = mesh_of("data+filter", "8x2");
  const RoutedExchange both = routed("hd", pairs, axis_bit(0), *torus);
  CHECK(us(both, 80) == paradl::test::approx(10 + 3 * 80));
  CHECK(both.phi == paradl::test::approx(2));
  CHECK(both.step == 1);
  // One of the two groups alone would have each row for itself: 10 + 2 m.
  const Job job{.ranks = 8, .bytes = Bytes{80e3}};
  const std::vector<int> seats{0, 2, 4, 6, 8, 10, 12, 14};
  CHECK(microseconds(link_load(find_algorithm("hd")->schedule(job), *torus, seats)) ==
        paradl::test::approx(10 + 2 * 80));
}

TEST_CASE("one group alone takes as long as `paradl collectives` says for the same seats") {
  const auto torus = network_of("torus:4,4");
  const Mesh mesh = mesh_of("data", "16");
  std::vector<int> seats(16, 0);
  std::iota(seats.begin(), seats.end(), 0);
  for (const Algorithm* algorithm : algorithms()) {
    if (!algorithm->serves(Operation::allreduce) || algorithm->tabulated) continue;
    CAPTURE(algorithm->name);
    Job job = sum_over(mesh, axis_bit(0), torus.get(), 4);
    job.density = 0.05;
    REQUIRE(refusal(*algorithm, job).empty());
    const auto all = route_exchange(*algorithm, job, mesh, axis_bit(0), *torus);
    REQUIRE(all);
    for (const double bytes : {1e3, 1e6}) {
      job.bytes = Bytes{bytes};
      const auto there = [&] { return link_load(algorithm->schedule(job), *torus, seats).time.base(); };
      if (!algorithm->pipelines(job.operation)) {
        CHECK(all->time(job.bytes).base() == paradl::test::approx(there()));
        continue;
      }
      // A pipeline has a line for every number of segments, also for those that were not routed.
      const auto& lines = all->time.choices();
      double least = 1e300;
      for (std::size_t k = 0; k < 9; ++k) {
        job.segments = 1 << k;
        CAPTURE(job.segments);
        CHECK(lines[k].time(job.bytes).base() == paradl::test::approx(there()));
        least = std::min(least, there());
      }
      job.segments = 0;
      CHECK(all->time(job.bytes).base() <= least * (1 + 1e-9));
    }
  }
}

TEST_CASE("the cost of a ring is that of one step times the number of steps") {
  using namespace literals;
  Machine machine = flat_machine(64);
  machine.topology = "torus:8,8";
  const auto torus = topology_of(machine);
  for (const char* grid : {"64x1", "8x8", "16x4", "32x2"}) {
    CAPTURE(grid);
    const Mesh mesh = without_ones(mesh_of("data+filter", grid));
    Path path = group_path(mesh, axis_bit(0), machine);
    path = route_groups(path, mesh, axis_bit(0), *torus, 0);
    const Linear rings = cost(Collective::allreduce, path);
    const RoutedExchange ring = routed("ring", mesh, axis_bit(0), *torus);
    CHECK(ring.time(1.0_MB).base() == paradl::test::approx(rings(1.0_MB).base()));
    CHECK(ring.phi == paradl::test::approx(path.outermost().phi));
    CHECK(ring.alike);
  }
}

TEST_CASE("the talk's hybrid on ABCI's two ports: phi follows from the routes") {
  using namespace literals;
  const auto exchange = [](const char* ports, const char* algorithm) {
    const Machine abci = build_machine(shipped().system("abci", {{"levels.rack.ports", ports}}));
    return routed(algorithm, mesh_of("data+filter", "16x4"), axis_bit(0), *levels_topology(abci));
  };
  // Four filter groups all-reduce at once, a GPU of each in every node.
  for (const char* algorithm : {"ring", "hd", "ring+ring"}) {
    CAPTURE(algorithm);
    CHECK(exchange("1", algorithm).phi == paradl::test::approx(4));
    CHECK(exchange("2", algorithm).phi == paradl::test::approx(2));
    CHECK(exchange("4", algorithm).phi == paradl::test::approx(1));
  }
}

TEST_CASE("closed forms are used for a library's tables and for too many messages") {
  const auto torus = network_of("torus:4,4");
  const Mesh mesh = mesh_of("data", "16");
  CHECK_FALSE(
      route_exchange(*find_algorithm("auto"), sum_over(mesh, axis_bit(0)), mesh, axis_bit(0), *torus));
  const auto large = network_of("crossbar:1024");
  const Mesh many = mesh_of("data", "1024");
  const Job job = sum_over(many, axis_bit(0));
  CHECK_FALSE(route_exchange(*find_algorithm("ps-sharded"), job, many, axis_bit(0), *large));
  CHECK(route_exchange(*find_algorithm("hd"), job, many, axis_bit(0), *large));
}

TEST_CASE("large messages use circuits: a line for each range of sizes, and the time to set circuits up") {
  // Racks of two hosts. Messages of 100 kB and more go by a circuit of 10 GB/s and 1 us.
  const auto optical = network_of("optical:100kB,10GB/s,2,2,20us+torus:4,4");
  const Mesh mesh = mesh_of("data", "16");
  const RoutedExchange all = routed("hd", mesh, axis_bit(0), *optical);
  std::vector<int> seats(16, 0);
  std::iota(seats.begin(), seats.end(), 0);
  for (const double bytes : {1e3, 0.3e6, 0.9e6, 1.3e6, 50e6}) {
    CAPTURE(bytes);
    Job job = sum_over(mesh, axis_bit(0), optical.get());
    job.bytes = Bytes{bytes};
    const Schedule schedule = find_algorithm("hd")->schedule(job);
    CHECK(all.time(job.bytes).base() ==
          paradl::test::approx(
              (link_load(schedule, *optical, seats).time + setup_of(schedule, *optical, seats)).base()));
  }
}

}  // namespace
}  // namespace paradl::test
