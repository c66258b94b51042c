// What would make something fit: every answer is one that the oracle gives when it is asked that way.
#include "paradl/feasibility/fitting.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Machine with_memory(double bytes) {
  Machine machine = flat_machine(64);
  machine.device.memory = Bytes{bytes};
  return machine;
}

Training mixed() {
  Training t;
  t.precision = Precision::fp16;
  t.optimizer = Optimizer::adam;
  return t;
}

Workload gpt() {
  return build_workload(shipped().model("gpt:layers=4,hidden=256,heads=8,seq=512,vocab=1024"));
}

/// What `strategy` needs.
double need(const Training& t, const std::string& strategy, const std::string& grid, double batch) {
  Bench bench(gpt(), flat_machine(64), t);
  return bench.engine(strategy, grid, batch).cost->memory.total().base();
}

}  // namespace

TEST_CASE("what fits needs no change, and what breaks another bound has none") {
  Bench roomy(gpt(), flat_machine(64), mixed());
  CHECK(ways_to_fit(roomy.engine("data", "4", 8), roomy.setting()).empty());
  Bench tight(gpt(), with_memory(1e6), mixed());
  CHECK(ways_to_fit(tight.engine("tensor", "3", 8), tight.setting()).empty());
}

TEST_CASE("scores that just do not fit are recomputed, or taken in smaller pieces, whichever is faster") {
  Training t = mixed();
  t.recompute = Recompute::selective;
  const double enough = need(t, "serial", "1", 8);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("serial", "1", 8);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, bench.setting());
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(remedy->projection.feasible());
  // Micro-batches cost no arithmetic on one GPU; recomputation does.
  CHECK(remedy->change.starts_with("--micro-batches"));
}

TEST_CASE("replicated states that do not fit are dealt out") {
  Training t = mixed();
  t.zero = 1;
  const double enough = need(t, "data", "8", 8);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("data", "8", 8);  // one sample each: nothing to cut into micro-batches
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, bench.setting());
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(remedy->projection.feasible());
  Training same = mixed();
  if (remedy->change == "--zero 1") same.zero = 1;
  if (remedy->change == "--zero 2") same.zero = 2;
  if (remedy->change == "--zero 3") same.zero = 3;
  if (remedy->change == "--recompute selective") same.recompute = Recompute::selective;
  if (remedy->change == "--recompute full") same.recompute = Recompute::full;
  Bench again(gpt(), with_memory(enough), same);
  const Projection by_hand = again.engine("data", "8", 8);
  CHECK(by_hand.feasible());
  CHECK(by_hand.iteration() == remedy->projection.iteration());
}

TEST_CASE("where no setting helps, twice the GPUs may") {
  Training t = mixed();
  t.recompute = Recompute::full;
  t.sequence_parallel = true;
  const double half = need(t, "tensor", "4", 1), whole = need(t, "tensor", "2", 1);
  REQUIRE(half < 0.9 * whole);
  Bench bench(gpt(), with_memory(0.95 * whole), t);
  const Projection p = bench.engine("tensor", "2", 1);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, bench.setting());
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(says(remedy->change, "twice the GPUs, --grid tensor=4"));
}

TEST_CASE("every way to fit is priced by the oracle, the cheapest first, and asked again gives the same") {
  Training t = mixed();
  t.recompute = Recompute::full;
  t.recomputed_blocks = 2;
  const double enough = need(t, "serial", "1", 1);  // one sample: no micro-batches, no other GPUs
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("serial", "1", 1);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, bench.setting());
  REQUIRE(ways.size() >= 2);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    CHECK(ways[i].projection.feasible());
    if (i > 0) CHECK(ways[i].projection.iteration() >= ways[i - 1].projection.iteration());
  }
  // As few blocks as are enough are cheaper than all of them.
  const auto find = [&](const std::string& words) { return std::ranges::find(ways, words, &Remedy::change); };
  REQUIRE(find("--recompute full:2") != ways.end());
  REQUIRE(find("--recompute full") != ways.end());
  CHECK(find("--recompute full:2") < find("--recompute full"));
  Bench by_hand(gpt(), with_memory(enough), t);
  CHECK(by_hand.engine("serial", "1", 1).iteration() == find("--recompute full:2")->projection.iteration());
}

TEST_CASE("where two changes are not enough, all of them together are tried before more GPUs") {
  Training t = mixed();
  t.recompute = Recompute::full;
  t.sequence_parallel = true;
  t.zero = 3;
  const double enough = need(t, "data+tensor", "2x2", 2);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("data+tensor", "2x2", 2);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, bench.setting());
  REQUIRE_FALSE(ways.empty());
  CHECK(ways.front().projection.gpus == 4);
  CHECK(says(ways.front().change, "--recompute full"));
  CHECK(says(ways.front().change, "--zero 3"));
}
