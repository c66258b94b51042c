#include <doctest/doctest.h>

#include "paradl/cost/stages.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/spec/catalog.hpp"
#include "paradl/strategy/fold.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;

namespace {

Workload network(const char* name) { return load_model(test::shipped(), name).second; }

/// All facts of a layout about each layer.
void check_equal(const Layout& a, const Layout& b) {
  CHECK(a.order == b.order);
  CHECK(a.left == b.left);
  CHECK(a.last_reader == b.last_reader);
  CHECK(a.role == b.role);
  REQUIRE(a.cells.size() == b.cells.size());
  for (std::size_t c = 0; c < a.cells.size(); ++c) {
    CAPTURE(c);
    CHECK(a.cells[c].layer == b.cells[c].layer);
    CHECK(a.cells[c].count == b.cells[c].count);
    CHECK(a.cells[c].summed == b.cells[c].summed);
    CHECK(a.cells[c].gradients == b.cells[c].gradients);
    CHECK(a.cells[c].kept[0].items == b.cells[c].kept[0].items);
    CHECK(a.cells[c].kept[0].grows == b.cells[c].kept[0].grows);
    CHECK(a.cells[c].mask.grows == b.cells[c].mask.grows);
    CHECK(a.cells[c].forward.size() == b.cells[c].forward.size());
    CHECK(a.cells[c].backward.size() == b.cells[c].backward.size());
  }
  REQUIRE(a.runs.size() == b.runs.size());
  for (std::size_t r = 0; r < a.runs.size(); ++r) CHECK(a.runs[r].repeats == b.runs[r].repeats);
  REQUIRE(a.shared_splits.size() == b.shared_splits.size());
  for (std::size_t c = 0; c < a.shared_splits.size(); ++c)
    CHECK(a.shared_splits[c].layer == b.shared_splits[c].layer);
  REQUIRE(a.rebuilt.size() == b.rebuilt.size());
  for (std::size_t r = 0; r < a.rebuilt.size(); ++r) CHECK(a.rebuilt[r].items == b.rebuilt[r].items);
}

}  // namespace

TEST_CASE("a folded network has four of its blocks, and later layers read the last of them") {
  const Workload work = network("gpt3-175b");
  const auto fold = find_fold(work, repeated_blocks(work));
  REQUIRE(fold);
  CHECK(fold->repeats >= 94);  // of 96 blocks
  const Workload shorter = folded(work, *fold);
  CHECK(int(shorter.layers.size()) == int(work.layers.size()) - fold->removed());
  for (std::size_t i = 0; i < shorter.layers.size(); ++i)
    for (const int from : shorter.layers[i].inputs) CHECK(from < int(i));
}

TEST_CASE("networks without a long run of equal blocks are not folded") {
  for (const char* name : {"resnet50", "alexnet", "vgg16"}) {
    const Workload work = network(name);
    CHECK_FALSE(find_fold(work, repeated_blocks(work)));
  }
}

TEST_CASE("the layout of a folded network is that of the whole one") {
  int unfolds = 0;
  for (const char* name :
       {"gpt2-medium", "gpt3-175b", "bert-large", "llama3-70b", "mixtral-8x7b", "t5-large", "resnet152"}) {
    CAPTURE(name);
    const Workload work = network(name);
    const auto fold = find_fold(work, repeated_blocks(work));
    if (!fold) continue;
    const Workload shorter = folded(work, *fold);
    for (const char* strategy : {"data", "tensor", "data+layer+tensor", "data+context", "data+expert",
                                 "data+filter", "data+channel", "context+tensor"})
      for (const bool sequence_parallel : {false, true})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          CAPTURE(strategy);
          const PlacingRules rules{.sequence_parallel = sequence_parallel, .recompute = recompute};
          const StrategyName asked = read_strategy(strategy);
          const Mesh mesh =
              meshes(asked, std::vector<Parts>(asked.axes.size(), Parts{.total = 4}), 1).front();
          const auto whole = unfolded(place(shorter, mesh, rules), *fold);
          REQUIRE(whole);
          check_equal(*whole, place(work, mesh, rules));
          ++unfolds;
        }
  }
  CHECK(unfolds >= 100);
}
