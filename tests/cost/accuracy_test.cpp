// Accuracy and ranking by hand.
#include "paradl/cost/accuracy.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/judged_run.hpp"

namespace paradl::test {

TEST_CASE("accuracy is one minus the relative error, and never below zero") {
  CHECK(run("data", 4, 2.0, 1.5).accuracy() == approx(0.75));
  CHECK(run("data", 4, 2.0, 2.5).accuracy() == approx(0.75));
  CHECK(run("data", 4, 1.0, 3.0).accuracy() == 0);
}

TEST_CASE("a tally has mean, median and worst") {
  const std::vector<Judged> runs{run("data", 4, 1, 0.9), run("data", 8, 1, 0.8), run("filter", 4, 1, 0.4)};
  const Tally all = tally(runs, "all");
  CHECK(all.mean == approx(0.7));
  CHECK(all.median == approx(0.8));
  CHECK(all.worst == approx(0.4));
  REQUIRE(by_strategy(runs).size() == 2);
  CHECK(by_strategy(runs)[0].mean == approx(0.85));
  REQUIRE(by_gpus(runs).size() == 2);
  CHECK(by_gpus(runs)[0].name == "4");
  CHECK(by_gpus(runs)[0].n == 2);
}

TEST_CASE("strategies are ranked by time per sample, and near ties do not count") {
  // Per sample: data 1/256, filter 1/64: data is faster, although its iteration takes as long.
  const Judged data = run("data", 4, 1.0, 1.0, 256), filter = run("filter", 4, 1.0, 1.0, 64);
  CHECK(ranking({data, filter}).pairs == 1);
  CHECK(ranking({data, filter}).agree == 1);
  CHECK(ranking({data, run("filter", 4, 1.0, 0.1, 64)}).agree == 0);  // the projection ranks filter first
  CHECK(ranking({data, run("spatial", 4, 1.05, 0.5, 256)}).pairs == 0);
  CHECK(ranking({data, run("filter", 8, 1.0, 1.0, 64)}).pairs == 0);  // another number of GPUs
}

TEST_CASE("the part of an error that neither computation nor communication explains is reported") {
  Judged one = run("data", 4, 1.0, 0.8);
  CHECK_FALSE(one.unexplained());
  one.compute = {0.5, 0.4};
  one.communication = {0.3, 0.4};
  CHECK(one.unexplained()->base() == approx(-0.2));  // the gap is -0.2; -0.1 and +0.1 are explained
}

TEST_CASE("runs with measured parts have a tally for each term, and no rank") {
  Judged data = run("data", 4, 0.1, 0.08), filter = run("filter", 4, 0.5, 0.5);
  data.partial = filter.partial = true;
  data.by_term[std::size_t(Term::gradient_exchange)] = {0.1, 0.08};
  filter.by_term[std::size_t(Term::activation_exchange)] = {0.5, 0.5};
  const auto tallies = by_term({data, filter});
  REQUIRE(tallies.size() == 2);
  CHECK(tallies[0].name == "gradient exchange");
  CHECK(tallies[0].mean == approx(0.8));
  CHECK(tallies[1].mean == approx(1));
  CHECK(ranking({data, filter}).pairs == 0);
}

}  // namespace paradl::test
