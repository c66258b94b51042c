// The gradient exchange of a strategy with a chosen algorithm.
#include <numeric>

#include <doctest/doctest.h>

#include "paradl/judge/reason.hpp"
#include "paradl/report/answer.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Plan with(const char* algorithm, double density = 1) {
  return {.allreduce = {find_algorithm(algorithm), density}};
}

double exchange(Bench& bench, const std::string& strategy, const std::string& grid) {
  const Projection p = bench.engine(strategy, grid, 64);
  REQUIRE(p.cost);
  return (*p.cost)[Term::gradient_exchange].base();
}

constexpr double alpha = 10e-6, beta = 1e-10, W = 2 * 576 * 4;

}  // namespace

TEST_CASE("on one level, a ring by name is the default") {
  Bench by_default(chain(2), flat_machine(), without_overlap());
  Bench ring(chain(2), flat_machine(), without_overlap(), with("ring"));
  for (const char* grid : {"2", "4", "16", "64"})
    CHECK(exchange(ring, "data", grid) == paradl::test::approx(exchange(by_default, "data", grid)));
}

TEST_CASE("halving and doubling: 2 log p start-ups, the same bytes") {
  Bench bench(chain(2), flat_machine(), without_overlap(), with("hd"));
  // p = 16: 2 * 4 alpha + 2 * 15/16 W beta
  CHECK(exchange(bench, "data", "16") == paradl::test::approx(8 * alpha + 2 * 15.0 / 16 * W * beta));
}

TEST_CASE("on two levels, ring+ring by name is the default, except for a few bytes") {
  Bench few(chain(2), two_level_machine(), without_overlap());
  Bench few_named(chain(2), two_level_machine(), without_overlap(), with("ring+ring"));
  // A ring of 4 in the node, and trees of 16 nodes with a quarter of the buffer; phi = 2.
  CHECK(exchange(few, "data", "64") ==
        paradl::test::approx(6 * (alpha + W / 4 * beta) + 8 * (40e-6 + W / 4 * 2 * 8e-11)));
  CHECK(exchange(few, "data", "64") < exchange(few_named, "data", "64"));
  Bench by_default(chain(2, 4096), two_level_machine(), without_overlap());
  Bench named(chain(2, 4096), two_level_machine(), without_overlap(), with("ring+ring"));
  CHECK(exchange(named, "data", "64") == paradl::test::approx(exchange(by_default, "data", "64")));
  CHECK(exchange(named, "data+filter", "16x4") ==
        paradl::test::approx(exchange(by_default, "data+filter", "16x4")));
}

TEST_CASE("sparse gradients send less than a ring, dense ones as much") {
  Bench ring(chain(2), flat_machine(), without_overlap(), with("ring"));
  Bench dense(chain(2), flat_machine(), without_overlap(), with("sparse-ring", 1));
  Bench sparse(chain(2), flat_machine(), without_overlap(), with("sparse-ring", 0.001));
  // Finding the top k is one read of the gradient from memory, 1 TB/s.
  const double read = W / 1e12;
  CHECK(exchange(dense, "data", "16") == paradl::test::approx(exchange(ring, "data", "16") + read));
  CHECK(exchange(sparse, "data", "16") < exchange(ring, "data", "16"));
}

TEST_CASE("an algorithm that does not support the group's size is a limit") {
  Bench bench(chain(2), flat_machine(), without_overlap(), with("shd"));
  CHECK(bench.engine("data", "16", 48).cost);
  const Projection p = bench.engine("data", "12", 48);
  CHECK_FALSE(p.cost);
  CHECK(p.limits.all().back().name() == "ranks <= what the allreduce serves");
  CHECK(p.limits.all().back().value == 12);
  CHECK(p.limits.all().back().bound == 8);
  CHECK(footnote(p, bench.work) ==
        "shd: needs numbers of ranks and of ranks per node that are powers of two, not 12 and 12; use `hd`, "
        "which takes any number");
}

TEST_CASE("an answer names the algorithm and protocol that NCCL uses for the gradients") {
  Bench nccl(chain(2), two_level_machine(), without_overlap(), with("auto"));
  const Projection p = nccl.engine("data", "16", 64);
  CHECK(p.chosen == "double-tree, LL");  // 4.6 kB: latency counts
  CHECK(allreduce_basis({p}) ==
        "Allreduce: auto (double-tree, LL), by NCCL's own model (closed form).");
  CHECK(nccl.engine("data", "1", 64).chosen == "");  // nothing to sum
  Bench ring(chain(2), two_level_machine(), without_overlap(), with("ring"));
  CHECK(ring.engine("data", "16", 64).chosen == "");
}

namespace {

/// 4 x 4 GPUs, wires of 10 us and 10 GB/s.
Machine small_torus() {
  Machine machine = flat_machine(16);
  machine.topology = "torus:4,4";
  return machine;
}

NetworkFidelity fidelity(Bench& bench, const std::string& grid) {
  const Projection p = bench.engine("data", grid, 1024);
  REQUIRE(p.allreduce);
  return *p.allreduce;
}

}  // namespace

TEST_CASE("on a topology, each step of each group has its own contention") {
  // The arithmetic is in tests/mesh/routed_exchange_test.cpp.
  Bench hd(chain(2), small_torus(), without_overlap(), with("hd"));
  CHECK(exchange(hd, "data", "16") == paradl::test::approx(12 * alpha + 2.5 * W * beta));
  CHECK(exchange(hd, "data+filter", "4x4") == paradl::test::approx(6 * alpha + 2 * W / 4 * beta));
  CHECK(exchange(hd, "data+filter", "8x2") == paradl::test::approx(10 * alpha + 3 * W / 2 * beta));
  CHECK(exchange(hd, "data", "16") ==
        paradl::test::approx(12 * alpha + 2.5 * W * beta));  // computed once, then looked up
}

TEST_CASE("on a topology of GPUs, a ring by name is the default") {
  Bench by_default(chain(2), small_torus(), without_overlap());
  Bench ring(chain(2), small_torus(), without_overlap(), with("ring"));
  CHECK(exchange(ring, "data", "16") == paradl::test::approx(exchange(by_default, "data", "16")));
  for (const char* grid : {"4x4", "8x2", "2x8"})
    CHECK(exchange(ring, "data+filter", grid) ==
          paradl::test::approx(exchange(by_default, "data+filter", grid)));
}

TEST_CASE("on a tree of levels too, the cost of an algorithm is that of its messages on the wires") {
  // ABCI, nodes of four GPUs with two ports: 2, 16 and 64 nodes (beyond 34 of them, over two racks).
  const Machine abci = build_machine(shipped().system("abci"));
  const auto tree = levels_topology(abci);
  for (const char* name :
       {"ring", "hd", "hd-far", "doubling", "tree", "leader", "ring+ring", "ring+hd", "shd", "ps"})
    for (const char* grid : {"8x1", "64x1", "16x4", "64x4", "32x2"}) {
      CAPTURE(name);
      CAPTURE(grid);
      Bench bench(chain(2), abci, without_overlap(), with(name));
      const Projection p = bench.engine("data+filter", grid, 256);
      REQUIRE(p.cost);
      CHECK(p.allreduce == NetworkFidelity::link_load);
      const Mesh mesh = without_ones(p.plan.mesh);
      const Evaluation e = bench.evaluator->evaluate(p.plan);
      const GradientGroup& group = e.gradients.groups[0];
      Job job = job_of(group.path, bench.setting(), e.plan.allreduce);
      job.bytes = Bytes{W} * double(job.ranks) / p.gpus;
      std::vector<int> seats(std::size_t(p.gpus), 0);
      std::iota(seats.begin(), seats.end(), 0);
      const Schedule all = in_all_groups(find_algorithm(name)->schedule(job), mesh, group.set);
      CHECK((*p.cost)[Term::gradient_exchange].base() ==
            paradl::test::approx(link_load(all, *tree, seats).time.base()));
    }
}

TEST_CASE("an answer says whether messages were routed or a closed form was used") {
  Bench hd(chain(2), flat_machine(), without_overlap(), with("hd"));
  Bench sparse(chain(2), flat_machine(), without_overlap(), with("sparse-ring", 0.01));
  Bench nccl(chain(2), flat_machine(), without_overlap(), with("auto"));
  Bench by_default(chain(2), flat_machine(), without_overlap());
  CHECK(fidelity(hd, "1024") == NetworkFidelity::link_load);
  CHECK(fidelity(sparse, "256") == NetworkFidelity::link_load);
  CHECK(fidelity(sparse, "1024") == NetworkFidelity::closed_form);  // a million messages
  CHECK(fidelity(nccl, "16") == NetworkFidelity::closed_form);
  CHECK_FALSE(by_default.engine("data", "16", 64).allreduce);
  CHECK_FALSE(hd.engine("data", "1", 64).allreduce);  // nothing to sum
}

TEST_CASE("every algorithm has a cost, or names the numbers of ranks that it supports") {
  for (const Algorithm* algorithm : algorithms()) {
    if (!algorithm->serves(Operation::allreduce)) continue;
    CAPTURE(algorithm->name);
    for (const Machine& machine : {small_torus(), two_level_machine()}) {
      Bench bench(chain(2), machine, without_overlap(), with(algorithm->name.data(), 0.01));
      for (const char* grid : {"16", "12", "7"}) {
        CAPTURE(grid);
        const Projection p = bench.engine("data", grid, 336);
        if (p.cost)
          CHECK((*p.cost)[Term::gradient_exchange] > Seconds{});
        else
          CHECK(p.limits.all().back().rule == LimitRule::allreduce);
      }
    }
  }
}

TEST_CASE("a slower network only lengthens exchanges between nodes") {
  Bench bench(chain(2), two_level_machine(), without_overlap(), with("ring+ring"));
  Bench slow(chain(2), congested(two_level_machine(), 3), without_overlap(), with("ring+ring"));
  const Projection a = bench.engine("data", "64", 64), b = slow.engine("data", "64", 64);
  CHECK(b.cost->compute() == a.cost->compute());
  // inside a node nothing changes: 2 * 3 (alpha + W/4 beta)
  const double inside = 6 * (alpha + W / 4 * beta);
  const double before = (*a.cost)[Term::gradient_exchange].base(),
               after = (*b.cost)[Term::gradient_exchange].base();
  CHECK(after - inside == paradl::test::approx(3 * (before - inside)));
  CHECK(congested(two_level_machine(), 1).levels[1].link.beta == two_level_machine().levels[1].link.beta);
}

TEST_CASE("cables draw idle power all the time, and peak power while exchanges run") {
  Machine machine = flat_machine();
  machine.levels[0].watts = Watts{2, 10};
  Bench bench(chain(2), machine, without_overlap(), with("ring"));
  const Projection p = bench.engine("data", "4", 64);
  // four GPUs with a cable each
  const double T = p.iteration().base(), busy = p.cost->communication().base();
  CHECK(*network_joules(p, machine) == paradl::test::approx(4 * (2 * T + 8 * busy)));
  CHECK_FALSE(network_joules(p, flat_machine()));
}
