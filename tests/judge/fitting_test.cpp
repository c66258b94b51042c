// Changes that make a plan fit: the oracle gives the promised answer with each of them.
#include "paradl/judge/fitting.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/asked.hpp"
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

/// The memory that `strategy` needs.
double need(const Plan& options, const std::string& strategy, const std::string& grid, double batch) {
  Bench bench(gpt(), flat_machine(64), mixed(), options);
  return bench.engine(strategy, grid, batch).cost->memory.total().base();
}

}  // namespace

TEST_CASE("a plan that fits, or breaks another limit, has no changes") {
  Bench roomy(gpt(), flat_machine(64), mixed());
  CHECK(ways_to_fit(roomy.engine("data", "4", 8), *roomy.evaluator).empty());
  Bench tight(gpt(), with_memory(1e6), mixed());
  CHECK(ways_to_fit(tight.engine("tensor", "3", 8), *tight.evaluator).empty());
}

TEST_CASE("scores that barely do not fit are recomputed, or computed in micro-batches, whichever is faster") {
  Plan t;
  t.recompute = Recompute::selective;
  const double enough = need(t, "serial", "1", 8);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("serial", "1", 8);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, *bench.evaluator);
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(remedy->projection.feasible());
  // Micro-batches cost no arithmetic on one GPU; recomputation does.
  CHECK(remedy->change.starts_with("--micro-batches"));
}

TEST_CASE("replicated states that do not fit are sharded") {
  Plan t;
  t.zero = 1;
  const double enough = need(t, "data", "8", 8);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("data", "8", 8);  // one sample each: nothing to cut into micro-batches
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, *bench.evaluator);
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(remedy->projection.feasible());
  Plan same;
  if (remedy->change == "--zero 1") same.zero = 1;
  if (remedy->change == "--zero 2") same.zero = 2;
  if (remedy->change == "--zero 3") same.zero = 3;
  if (remedy->change == "--recompute selective") same.recompute = Recompute::selective;
  if (remedy->change == "--recompute full") same.recompute = Recompute::full;
  Bench again(gpt(), with_memory(enough), mixed(), same);
  const Projection by_hand = again.engine("data", "8", 8);
  CHECK(by_hand.feasible());
  CHECK(by_hand.iteration() == remedy->projection.iteration());
}

TEST_CASE("if no setting helps, twice the GPUs may") {
  Plan t;
  t.recompute = Recompute::full;
  t.sequence_parallel = true;
  const double half = need(t, "tensor", "4", 1), whole = need(t, "tensor", "2", 1);
  REQUIRE(half < 0.9 * whole);
  Bench bench(gpt(), with_memory(0.95 * whole), mixed(), t);
  const Projection p = bench.engine("tensor", "2", 1);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, *bench.evaluator);
  REQUIRE_FALSE(ways.empty());
  const Remedy* remedy = &ways.front();
  CHECK(remedy->note == "twice the GPUs");
  CHECK(remedy->change == "-p 4 -b 1 --grid tensor=4");
  CHECK(remedy->option == "-s tensor --grid tensor=4 -p 4 -b 1");
  CHECK(says(text(*remedy), "tensor 2 fits with twice the GPUs, -p 4 -b 1 --grid tensor=4: "));
}

TEST_CASE("every way to fit is priced by the oracle, the cheapest first, and a second call gives the same") {
  Plan t;
  t.recompute = Recompute::full;
  t.recomputed_blocks = 2;
  const double enough = need(t, "serial", "1", 1);  // one sample: no micro-batches, no other GPUs
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("serial", "1", 1);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, *bench.evaluator);
  REQUIRE(ways.size() >= 2);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    CHECK(ways[i].projection.feasible());
    if (i > 0) CHECK(ways[i].projection.iteration() >= ways[i - 1].projection.iteration());
  }
  // Recomputing just enough blocks is cheaper than recomputing all.
  const auto find = [&](const std::string& words) { return std::ranges::find(ways, words, &Remedy::change); };
  REQUIRE(find("--recompute full:2") != ways.end());
  REQUIRE(find("--recompute full") != ways.end());
  CHECK(find("--recompute full:2") < find("--recompute full"));
  Bench by_hand(gpt(), with_memory(enough), mixed(), t);
  CHECK(by_hand.engine("serial", "1", 1).iteration() == find("--recompute full:2")->projection.iteration());
}

TEST_CASE("if two changes are not enough, all of them together are tried before more GPUs") {
  Plan t;
  t.recompute = Recompute::full;
  t.sequence_parallel = true;
  t.zero = 3;
  const double enough = need(t, "data+tensor", "2x2", 2);
  Bench bench(gpt(), with_memory(enough), mixed());
  const Projection p = bench.engine("data+tensor", "2x2", 2);
  REQUIRE_FALSE(p.feasible());
  const auto ways = ways_to_fit(p, *bench.evaluator);
  REQUIRE_FALSE(ways.empty());
  CHECK(ways.front().projection.gpus == 4);
  CHECK(says(ways.front().change, "--recompute full"));
  CHECK(says(ways.front().change, "--zero 3"));
}

namespace {

/// A random question that may be too large for its machine.
struct RandomQuestion {
  std::string model, words;
};
RandomQuestion random_question(std::mt19937& random) {
  const auto one_of = [&](std::vector<std::string> list) { return list[random() % list.size()]; };
  const bool experts = random() % 4 == 0;
  const std::string model = experts
                                ? "llama:layers=8,hidden=2048,heads=16,seq=2048,vocab=32000,experts=8,top-k=2"
                                : "gpt:layers=16,hidden=2048,heads=16,seq=2048,vocab=51200";
  const std::string grid =
      experts ? one_of({"expert=8", "data=2,expert=4", "expert=4,tensor=2"})
              : one_of({"data=8", "layer=4", "data=2,layer=4", "tensor=8", "data=2,layer=2,tensor=2",
                        "context=4", "context=2,tensor=4", "data=4,tensor=2"});
  std::string words =
      "--grid " + grid + " -b " + one_of({"32", "64", "256"}) + " --precision bf16 --optimizer adam";
  const bool staged = grid.find("layer") != grid.npos;
  words += " --micro-batches " +
           one_of(staged ? std::vector<std::string>{"4", "8"} : std::vector<std::string>{"1", "2"});
  if (staged) words += " --schedule " + one_of({"gpipe", "1f1b", "interleaved:2"});
  if (!experts && random() % 2) words += " --recompute " + one_of({"selective", "selective:4", "full:3"});
  if (grid.find("data") != grid.npos && random() % 3 == 0) words += " --zero 1";
  return {model, words};
}

}  // namespace

TEST_CASE("a change that is said to fit does so when its options are typed") {
  std::mt19937 random(11);
  int promised = 0;
  for (int round = 0; round < 60; ++round) {
    const RandomQuestion question = random_question(random);
    const std::string memory = " --set device.memory=" + std::to_string(8 << random() % 4) + "GiB";
    const Asked asked(question.model, "selene", question.words + memory);
    if (asked.projection.feasible() || !asked.projection.cost) continue;
    const auto ways = ways_to_fit(asked.projection, asked.oracle.evaluator());
    CAPTURE(question.model);
    CAPTURE(question.words);
    if (ways.empty()) CHECK_FALSE(nothing_fits_text(asked.projection, asked.oracle.setting()).empty());
    for (const Remedy& way : ways) {
      CAPTURE(way.change);
      const Asked again(question.model, "selene", question.words + memory + " " + way.change);
      CHECK(again.projection.feasible());
      CHECK(again.projection.cost->memory.total() == way.projection.cost->memory.total());
      CHECK(again.projection.iteration() == way.projection.iteration());
      ++promised;
    }
  }
  CHECK(promised > 50);
}

TEST_CASE("a spatial cut that the question leaves open is chosen again for each change; a typed one stays") {
  const auto ways_of = [](const Asked& asked) {
    REQUIRE_FALSE(asked.projection.feasible());
    auto ways = ways_to_fit(asked.projection, asked.oracle.evaluator(), &asked.oracle.question());
    REQUIRE_FALSE(ways.empty());
    return ways;
  };
  int other_cuts = 0;
  for (const std::string words : {"--grid data=2,spatial=4 -b 2048", "-s spatial -p 4 -b 1024"}) {
    CAPTURE(words);
    const Asked asked("resnet50", "abci", words);
    for (const Remedy& way : ways_of(asked)) {
      CAPTURE(way.change);
      const std::size_t grid = way.change.find(" --grid ");
      REQUIRE(grid != way.change.npos);
      const Asked again("resnet50", "abci", words + " " + way.change);
      const Asked open("resnet50", "abci", words + " " + way.change.substr(0, grid));
      CHECK(again.projection.iteration() == way.projection.iteration());
      CHECK(open.projection.iteration() == way.projection.iteration());
      other_cuts += exact_grid(way.projection.plan.mesh, 2) != exact_grid(asked.projection.plan.mesh, 2);
    }
  }
  CHECK(other_cuts > 0);
  const Asked settled("resnet50", "abci", "--grid data=2,spatial=1x4 -b 2048");
  for (const Remedy& way : ways_of(settled)) {
    CHECK_FALSE(says(way.change, "--grid"));
    CHECK(exact_grid(way.projection.plan.mesh, 2) == "data=2,spatial=1x4");
  }
}

TEST_CASE("the first way to fit is as fast as any combination of changes") {
  // Every combination, priced by hand.
  const auto fastest = [](const Projection& p, const Evaluator& evaluator, double samples, bool tensor) {
    Seconds best{1e300};
    for (const Recompute kind : {Recompute::none, Recompute::selective, Recompute::full})
      for (const bool sequence : {false, true})
        for (int zero = 0; zero <= 3; ++zero)
          for (int S = p.plan.micro_batches; S <= samples; S *= 2) {
            if (sequence && !tensor) continue;
            Plan plan = p.plan;
            plan.recompute = kind;
            plan.sequence_parallel = sequence;
            plan.zero = zero;
            plan.micro_batches = S;
            const Projection one = evaluator.project(plan);
            if (one.feasible()) best = std::min(best, one.iteration());
          }
    return best;
  };
  int compared = 0;
  for (const double share : {0.3, 0.5, 0.7, 0.9})
    for (const auto& [strategy, grid, data, tensor] : {std::tuple{"data", "8", 8.0, false},
                                                       {"data+tensor", "4x2", 4.0, true},
                                                       {"data+tensor", "2x4", 2.0, true}}) {
      const double whole = need({}, strategy, grid, 64);
      Bench bench(gpt(), with_memory(share * whole), mixed());
      const Projection p = bench.engine(strategy, grid, 64);
      REQUIRE_FALSE(p.feasible());
      const auto ways = ways_to_fit(p, *bench.evaluator);
      if (ways.empty() || ways.front().projection.gpus > p.gpus) continue;
      CAPTURE(strategy);
      CAPTURE(grid);
      CAPTURE(share);
      CAPTURE(ways.front().change);
      CHECK(ways.front().projection.iteration() <= 1.001 * fastest(p, *bench.evaluator, 64 / data, tensor));
      ++compared;
    }
  CHECK(compared > 6);
}

TEST_CASE("recomputation of some blocks can be extended to all") {
  Plan t;
  t.recompute = Recompute::full;
  const double enough = need(t, "serial", "1", 1);
  t.recomputed_blocks = 1;
  Bench full(gpt(), with_memory(enough), mixed(), t);
  const auto all = ways_to_fit(full.engine("serial", "1", 1), *full.evaluator);
  CHECK(std::ranges::find(all, "--recompute full", &Remedy::change) != all.end());
  t.recompute = Recompute::selective;
  t.recomputed_blocks = -1;
  const double scores = need(t, "serial", "1", 1);
  t.recomputed_blocks = 1;
  Bench selective(gpt(), with_memory(scores), mixed(), t);
  const auto ways = ways_to_fit(selective.engine("serial", "1", 1), *selective.evaluator);
  CHECK(std::ranges::find(ways, "--recompute selective", &Remedy::change) != ways.end());
}

TEST_CASE("if nothing fits, the answer lists what was tried") {
  Bench bench(gpt(), with_memory(1e6), mixed());
  const Projection p = bench.engine("data", "8", 8);
  CHECK(ways_to_fit(p, *bench.evaluator).empty());
  CHECK(nothing_fits_text(p, bench.setting()) ==
        "nothing that was tried fits, up to --recompute full, --zero 3, twice the GPUs");
}

TEST_CASE("of several grids, changes are made to the one that is fastest once it fits, not to the smallest") {
  const double whole = need({}, "data+tensor", "4x2", 64);
  Bench bench(gpt(), with_memory(0.4 * whole), mixed());
  std::vector<Projection> grids;
  for (const char* grid : {"8x1", "4x2", "2x4", "1x8"})
    grids.push_back(bench.engine("data+tensor", grid, 64));
  Seconds fastest{1e300};
  for (const Projection& p : grids) {
    REQUIRE_FALSE(p.feasible());
    if (const auto ways = ways_to_fit(p, *bench.evaluator); !ways.empty())
      fastest = std::min(fastest, ways.front().projection.iteration());
  }
  const auto ways = ways_to_fit(grids, *bench.evaluator);
  REQUIRE_FALSE(ways.empty());
  CHECK(ways.front().projection.iteration() <= 1.001 * fastest);
}
