// A strategy's gradient exchange carried by an algorithm of choice.
#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Training with(const char* algorithm, double density = 1) {
  Training t = without_overlap();
  t.allreduce = find_algorithm(algorithm);
  t.density = density;
  return t;
}

double exchange(Bench& bench, const std::string& strategy, const std::string& grid) {
  const Projection p = bench.engine(strategy, grid, 64);
  REQUIRE(p.cost);
  return (*p.cost)[Term::gradient_exchange].base();
}

constexpr double alpha = 10e-6, beta = 1e-10, W = 2 * 576 * 4;

}  // namespace

TEST_CASE("on one level a ring is what it always was") {
  Bench by_default(chain(2), flat_machine(), without_overlap());
  Bench ring(chain(2), flat_machine(), with("ring"));
  for (const char* grid : {"2", "4", "16", "64"})
    CHECK(exchange(ring, "data", grid) == paradl::test::approx(exchange(by_default, "data", grid)));
}

TEST_CASE("halving and doubling: 2 log p start-ups, the same bytes") {
  Bench bench(chain(2), flat_machine(), with("hd"));
  // p = 16: 2 * 4 alpha + 2 * 15/16 W beta
  CHECK(exchange(bench, "data", "16") == paradl::test::approx(8 * alpha + 2 * 15.0 / 16 * W * beta));
}

TEST_CASE("a ring on each level by name is the default on two levels") {
  Bench by_default(chain(2), two_level_machine(), without_overlap());
  Bench named(chain(2), two_level_machine(), with("ring+ring"));
  CHECK(exchange(named, "data", "64") == paradl::test::approx(exchange(by_default, "data", "64")));
  CHECK(exchange(named, "data+filter", "16x4") ==
        paradl::test::approx(exchange(by_default, "data+filter", "16x4")));
}

TEST_CASE("sparse gradients send less, dense ones what a ring sends") {
  Bench ring(chain(2), flat_machine(), with("ring"));
  Bench dense(chain(2), flat_machine(), with("sparse-ring", 1));
  Bench sparse(chain(2), flat_machine(), with("sparse-ring", 0.001));
  CHECK(exchange(dense, "data", "16") == paradl::test::approx(exchange(ring, "data", "16")));
  CHECK(exchange(sparse, "data", "16") < exchange(ring, "data", "16"));
}

TEST_CASE("an algorithm that cannot serve the group is a limit, not a guess") {
  Bench bench(chain(2), flat_machine(), with("shd"));
  CHECK(bench.engine("data", "16", 48).cost);
  const Projection p = bench.engine("data", "12", 48);
  CHECK_FALSE(p.cost);
  CHECK(p.limits.all().back().rule == "ranks <= what the allreduce serves");
  CHECK(p.limits.all().back().value == 12);
  CHECK(p.limits.all().back().bound == 8);
}

TEST_CASE("a slower network lengthens exchanges between nodes and nothing else") {
  Bench bench(chain(2), two_level_machine(), with("ring+ring"));
  Bench slow(chain(2), congested(two_level_machine(), 3), with("ring+ring"));
  const Projection a = bench.engine("data", "64", 64), b = slow.engine("data", "64", 64);
  CHECK(b.cost->compute() == a.cost->compute());
  // inside a node nothing changes: 2 * 3 (alpha + W/4 beta)
  const double inside = 6 * (alpha + W / 4 * beta);
  const double before = (*a.cost)[Term::gradient_exchange].base(),
               after = (*b.cost)[Term::gradient_exchange].base();
  CHECK(after - inside == paradl::test::approx(3 * (before - inside)));
  CHECK(congested(two_level_machine(), 1).levels[1].link.beta == two_level_machine().levels[1].link.beta);
}

TEST_CASE("cables draw their idle power all the time, their peak while exchanges run") {
  Machine machine = flat_machine();
  machine.levels[0].watts = Watts{2, 10};
  Bench bench(chain(2), machine, with("ring"));
  const Projection p = bench.engine("data", "4", 64);
  // four GPUs with a cable each
  const double T = p.iteration().base(), busy = p.cost->communication().base();
  CHECK(*network_joules(p, machine) == paradl::test::approx(4 * (2 * T + 8 * busy)));
  CHECK_FALSE(network_joules(p, flat_machine()));
}
