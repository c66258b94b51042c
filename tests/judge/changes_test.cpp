#include "paradl/judge/changes.hpp"

#include <set>

#include <doctest/doctest.h>

#include "paradl/judge/bottleneck.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

/// The command-line options of a change that saves memory.
std::vector<std::string> options(const MemoryOption& option, const Bench& bench, const Projection& p) {
  std::vector<std::string> out;
  for (const Alternative& one : alternatives(option, evidence_of(p, bench.setting())))
    out.push_back(one.option);
  return out;
}

}  // namespace

TEST_CASE("changes: ZeRO has three stages if weights are replicated, and none with a named allreduce") {
  const MemoryOption& zero = memory_options[2];
  Bench bench(chain(2), flat_machine());
  using Words = std::vector<std::string>;
  CHECK(options(zero, bench, bench.engine("data", "4", 32)) == Words{"--zero 1", "--zero 2", "--zero 3"});
  CHECK(options(zero, bench, bench.engine("filter", "4", 32)).empty());
  Bench sharded(chain(2), flat_machine(), {}, {.zero = 2});
  CHECK(options(zero, sharded, sharded.engine("data", "4", 32)) == Words{"--zero 3"});
  Bench named(chain(2), flat_machine(), {}, {.allreduce = {find_algorithm("ring")}});
  CHECK(options(zero, named, named.engine("data", "4", 32)).empty());
}

TEST_CASE("changes: numbers of micro-batches divide the samples, and stages keep only some of them") {
  const MemoryOption& micro = memory_options[3];
  Bench bench(chain(2), flat_machine());
  using Words = std::vector<std::string>;
  CHECK(options(micro, bench, bench.engine("data", "4", 24)) ==
        Words{"--micro-batches 2", "--micro-batches 3", "--micro-batches 6"});
  CHECK(options(micro, bench, bench.engine("layer", "2", 2)) == Words{"--micro-batches 2 --schedule 1f1b"});
}

TEST_CASE("changes: a change has the option and the audience of its row") {
  Bench bench(chain(2), flat_machine());
  const Projection p = bench.engine("data", "4", 32);
  const Alternatives found = alternatives(ChangeKind::sharded_optimizer, evidence_of(p, bench.setting()));
  REQUIRE(found.size() == 1);
  CHECK(found[0].of->kind == ChangeKind::sharded_optimizer);
  CHECK(found[0].option == "--zero 1");
  CHECK(found[0].owner == Owner::framework);
  Plan plan;
  found[0].apply(plan);
  CHECK(plan.zero == 1);
  CHECK_FALSE(found[0].changes_case());
}

TEST_CASE("changes: every row is a remedy of a bottleneck, makes plans fit, or is studied for the system") {
  std::set<ChangeKind> used{ChangeKind::more_gpus,
                            ChangeKind::plain_sgd};  // hints if no option makes a plan fit
  for (std::size_t i = 0; i < bottleneck_kinds; ++i)
    for (const ChangeKind remedy : entry(BottleneckKind(i)).remedies) used.insert(remedy);
  for (const MemoryOption& option : memory_options)
    for (const auto& change : option.changes)
      if (change) used.insert(*change);
  for (std::size_t i = 0; i < change_kinds; ++i) {
    const Change& row = row_of(ChangeKind(i));
    CAPTURE(row.option);
    CAPTURE(i);
    CHECK((used.contains(row.kind) || row.levers));
    CHECK((!row.levers || row.owner == Owner::system));
    CHECK_FALSE(row.option.empty());
    const bool one_value = row.applies && (row.plan || row.training) && !row.text.empty();
    CHECK(one_value != (row.values || row.levers));
  }
}

TEST_CASE("changes: twice the GPUs, on each axis, as long as the machine has them") {
  Bench bench(chain(2), flat_machine(16));
  const Projection p = bench.engine("data+filter", "4x2", 32);
  const Alternatives found = alternatives(ChangeKind::more_gpus, evidence_of(p, bench.setting()));
  REQUIRE(found.size() == 2);
  CHECK(found[0].text == "twice the GPUs");
  CHECK(found[0].option == "-p 16 -b 32");
  CHECK(grid_text(*found[0].mesh, true) == "8x2");
  CHECK(grid_text(*found[1].mesh, true) == "4x4");
  const Projection all = bench.engine("data", "16", 32);
  CHECK(alternatives(ChangeKind::more_gpus, evidence_of(all, bench.setting())).empty());
}
