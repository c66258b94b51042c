#include "paradl/network/algorithm.hpp"

#include <set>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

const Link slow{.alpha = 1.0_us, .beta = 1.0 / 1.0_GBps};
const Link fast{.alpha = 0.5_us, .beta = 1.0 / 10.0_GBps};

Ways flat(int p) { return {.inner = {}, .outer = {double(p), slow, 1, ""}}; }
doctest::Approx near(double value) { return paradl::test::approx(value).epsilon(1e-12); }

double time(std::string_view name, Job job, const Ways& ways) {
  return find_algorithm(name)->closed_form(job, ways)(job.bytes).base();
}

TEST_CASE("every algorithm name of the command line exists once") {
  for (const char* name : {"ring",          "ring-bidirectional",
                           "ring-2d",       "hd",
                           "hd-far",        "doubling",
                           "tree",          "tree-pipelined",
                           "double-tree",   "leader",
                           "ring+ring",     "ring+hd",
                           "ring+doubling", "ps",
                           "ps-sharded",    "sparse-pairwise",
                           "sparse-ring",   "sparse-ring+ring",
                           "shd",           "multitree",
                           "auto"}) {
    CAPTURE(name);
    REQUIRE(find_algorithm(name));
    CHECK(find_algorithm(name)->serves(Operation::allreduce));
  }
  std::set<std::string_view> names;
  for (const Algorithm* algorithm : algorithms()) {
    CHECK(names.insert(algorithm->name).second);
    CHECK_FALSE(algorithm->summary.empty());
    CHECK_FALSE(algorithm->formula.empty());
  }
  CHECK(find_algorithm("rings") == nullptr);
}

TEST_CASE("every operation has a name and an algorithm") {
  for (const Operation operation : operations()) {
    CHECK(find_operation(text_of(operation)) == operation);
    bool served = false;
    for (const Algorithm* algorithm : algorithms()) served |= algorithm->serves(operation);
    CHECK(served);
  }
  CHECK(text_of(Operation::reduce_scatter) == "reduce-scatter");
  CHECK_FALSE(find_operation("sum"));
}

TEST_CASE("an algorithm that does not support a job says why, and names others that do") {
  const auto reason = [](std::string_view name, const Job& job) {
    return refusal(*find_algorithm(name), job);
  };
  CHECK(reason("ring", {.operation = Operation::scatter, .ranks = 4}) ==
        "`ring` does not support scatter; use `tree`");
  CHECK(reason("direct", {.ranks = 4}) ==
        "`direct` does not support allreduce; use `ring`, `ring-bidirectional`, `ring-2d`, `hd` "
        "or one of 17 more");
  CHECK(reason("hd", {.operation = Operation::halo, .ranks = 4}) ==
        "`hd` does not support halo; use `direct`");
  CHECK(reason("hd", {.operation = Operation::allgather, .ranks = 6}) ==
        "needs a power of two of ranks for allgather, not 6; use `ring`, which takes any number");
  CHECK(reason("hd", {.ranks = 6}) == "");
  CHECK(reason("ring-2d", {.ranks = 7}) ==
        "7 ranks cannot form a grid of two dimensions; use `ring`, which takes any number");
  CHECK(reason("ring+ring", {.ranks = 10, .per_node = 4}) ==
        "10 ranks do not fill nodes of 4; use `ring`, which takes any number");
  CHECK(reason("shd", {.ranks = 12, .per_node = 4}) ==
        "needs numbers of ranks and of ranks per node that are powers of two, not 12 and 4; use `hd`, which "
        "takes any number");
  CHECK(reason("multitree", {.ranks = 8})
            .starts_with("needs a topology, whose wires its trees follow (this system has only levels); "));
  CHECK(reason("sparse-ring", {.ranks = 8, .density = 1.5}) ==
        "the density 1.5 is not a share of the values; use a number above 0 and up to 1");
  CHECK(reason("ring", {.ranks = 0}) == "0 ranks cannot communicate");
}

TEST_CASE("allreduce of 4 MB on 4 ranks, by hand") {
  const Job job{.ranks = 4, .bytes = 4.0_MB};
  // 6 steps of 1 us + 1 ms
  CHECK(time("ring", job, flat(4)) == near(6006e-6));
  // 2 MB, 1 MB, and back: 4 us + 6 ms
  CHECK(time("hd", job, flat(4)) == near(6004e-6));
  CHECK(time("hd-far", job, flat(4)) == near(6004e-6));
  // 2 steps of 4 MB
  CHECK(time("doubling", job, flat(4)) == near(8002e-6));
  // 2 levels up, 2 down, 4 MB each
  CHECK(time("tree", job, flat(4)) == near(16004e-6));
  // in 4 segments: 2 (2 + 4 - 1) steps of 1 MB
  CHECK(time("tree-pipelined", {.ranks = 4, .bytes = 4.0_MB, .segments = 4}, flat(4)) == near(10010e-6));
  // 3 workers push 4 MB each to one port, then pull: 2 (1 us + 12 ms)
  CHECK(time("ps", job, flat(4)) == near(24002e-6));
  // 3 messages of 1 MB each way: 6 (1 us + 1 ms)
  CHECK(time("ps-sharded", job, flat(4)) == near(6006e-6));
  // two wires a rank: 6 (1 us + 0.5 ms); one: as the ring
  Ways two = flat(4);
  two.ports = 2;
  CHECK(time("ring-bidirectional", job, two) == near(3006e-6));
  CHECK(time("ring-bidirectional", job, flat(4)) == near(6006e-6));
}

TEST_CASE("allreduce on 2 nodes of 4, by hand") {
  // 0.5 us and 10 GB/s inside a node; 1 us and 1 GB/s between nodes, with two ranks on each port; 8 MB
  const Ways ways{.inner = {4, fast, 1, "node"}, .outer = {2, slow, 2, "machine"}};
  const Job job{.ranks = 8, .bytes = 8.0_MB, .per_node = 4};
  // 6 (0.5 us + 2 MB / 10 GB/s) + 2 (1 us + 1 MB * 2 / 1 GB/s) = 6 * 200.5 us + 2 * 2001 us
  CHECK(time("ring+ring", job, ways) == near(5205e-6));
  // the same with two nodes: 1203 us + 2 us + 2 * 1/2 * 2 MB * 2 ns/B = 4 ms
  CHECK(time("ring+hd", job, ways) == near(5205e-6));
  // 1203 us + one exchange of 2 MB: 1 us + 4 ms
  CHECK(time("ring+doubling", job, ways) == near(5204e-6));
  // 2 * 2 levels of 0.5 us + 0.8 ms; 2 (1 us + 4 ms): the leader has the port to itself
  CHECK(time("leader", job, ways) == near(3202e-6 + 8002e-6));
  // ring: 14 (1 us + 1 MB / 1 GB/s)
  CHECK(time("ring", job, ways) == near(14 * 1001e-6));
  // hd: 4 MB and 2 MB inside, 1 MB between with phi = 2, and back: 2 (400.5 + 200.5 + 2001) us
  CHECK(time("hd", job, ways) == near(2 * 2602e-6));
  // hd-far: 4 MB between, then 2 MB and 1 MB inside: 2 (8001 + 200.5 + 100.5) us
  CHECK(time("hd-far", job, ways) == near(2 * 8302e-6));
}

TEST_CASE("the other operations on 4 ranks, by hand") {
  const auto of = [](Operation operation, int segments = 0) {
    return Job{.operation = operation, .ranks = 4, .bytes = 4.0_MB, .segments = segments};
  };
  CHECK(time("ring", of(Operation::allgather), flat(4)) == near(3003e-6));
  CHECK(time("ring", of(Operation::reduce_scatter), flat(4)) == near(3003e-6));
  // 2 MB, then 1 MB
  CHECK(time("hd", of(Operation::reduce_scatter), flat(4)) == near(3002e-6));
  CHECK(time("tree", of(Operation::broadcast), flat(4)) == near(8002e-6));
  CHECK(time("tree", of(Operation::reduce), flat(4)) == near(8002e-6));
  // 2 MB for the far half, then 1 MB
  CHECK(time("tree", of(Operation::scatter), flat(4)) == near(3002e-6));
  // 2 hops before the last rank has a segment, and 4 segments of 1 MB
  CHECK(time("ring", of(Operation::broadcast, 4), flat(4)) == near(6006e-6));
  // 3 messages of a quarter of 4 MB
  CHECK(time("pairwise", of(Operation::all_to_all), flat(4)) == near(3003e-6));
  // one border to each neighbour
  CHECK(time("direct", of(Operation::halo), flat(4)) == near(8002e-6));
  CHECK(time("direct", of(Operation::point_to_point), flat(4)) == near(4001e-6));
}

TEST_CASE("a ring of 1024 ranks is stored as two steps") {
  const Schedule ring = find_algorithm("ring")->schedule({.ranks = 1024, .bytes = 1.0_MB});
  CHECK(ring.steps.size() == 2);
  CHECK(ring.flows.size() == 2048);
  CHECK(ring.length() == 2046);
  const Schedule levels =
      find_algorithm("ring+ring")->schedule({.ranks = 1024, .bytes = 1.0_MB, .per_node = 8});
  CHECK(levels.steps.size() == 4);
  CHECK(levels.length() == 2 * (7 + 127));
  const Schedule grid = find_algorithm("ring-2d")->schedule({.ranks = 1024, .bytes = 1.0_MB});
  CHECK(grid.steps.size() == 4);
  CHECK(grid.length() == 4 * 31);
}

TEST_CASE("if the choice is open, a curve is the minimum of all choices") {
  Curve curve;
  CHECK(curve(1.0_MB) == Seconds{});
  curve.add({Linear{1.0_us, slow.beta}});
  curve.add({Linear{100.0_us, fast.beta}});
  CHECK(curve(1.0_B).base() == near(1.001e-6));
  CHECK(curve(1.0_MB).base() == near(200e-6));
  curve.add({Linear{}, 1.0_MB, 2.0_MB});
  CHECK(curve(1.0_MB) == Seconds{});
  CHECK(curve(2.0_MB).base() == near(300e-6));
}

}  // namespace
}  // namespace paradl
