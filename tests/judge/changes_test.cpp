#include "paradl/judge/changes.hpp"

#include <doctest/doctest.h>

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
  const Alternatives found = alternatives(changes::sharded_optimizer, evidence_of(p, bench.setting()));
  REQUIRE(found.size() == 1);
  CHECK(found[0].of == &changes::sharded_optimizer);
  CHECK(found[0].option == "--zero 1");
  CHECK(found[0].owner == Owner::framework);
  Plan plan;
  found[0].apply(plan);
  CHECK(plan.zero == 1);
  CHECK_FALSE(found[0].changes_case());
}
