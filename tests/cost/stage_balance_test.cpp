// Stages are balanced by the times that the engine charges for them.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/mesh/partition.hpp"
#include "tests/support/asked.hpp"

namespace paradl::test {
namespace {

struct Run {
  const char *model, *system, *framework, *strategy, *grid, *batch, *micro_batches;
  int gpus;
};

double iteration(const Run& run, const std::string& cut) {
  const Query query = query_of(run.model, run.system,
                               {{"gpus", std::to_string(run.gpus)},
                                {"batch", run.batch},
                                {"strategy", run.strategy},
                                {"grid", run.grid},
                                {"framework", run.framework},
                                {"micro-batches", run.micro_batches},
                                {"schedule", "1f1b"},
                                {"set", "framework.stages=" + cut}});
  const auto all = ask(query, shipped()).sweep();
  REQUIRE(all.size() == 1);
  REQUIRE(all.front().cost);
  return all.front().iteration().base();
}

}  // namespace

TEST_CASE("a pass takes the longer of its GPU's and its host's time, with a smooth transition") {
  CHECK(paced(3, 0) == 3);
  CHECK(paced(0, 3) == doctest::Approx(3));
  CHECK(paced(1, 1) == doctest::Approx(std::cbrt(2.0)));
  CHECK(paced(10, 1) == doctest::Approx(10).epsilon(1e-3));
}

TEST_CASE("the host's time counts when a chain is cut into stages") {
  const std::vector<LayerLoad> plain(4, {.forward = 1, .backward = 3});
  CHECK(balanced_partition(plain, 2) == std::vector{0, 2});
  // The first two layers have little work, but the host needs long to launch them.
  std::vector<LayerLoad> hosted(4, {.forward = 1, .backward = 2});
  hosted[0] = hosted[1] = {.forward = 0.1, .backward = 0.2, .forward_host = 1, .backward_host = 2};
  CHECK(balanced_partition(hosted, 2) == std::vector{0, 2});
}

TEST_CASE("with one micro-batch, stages are not slower than stages cut by the times of layers alone") {
  // Then the messages between stages count, not the longest stage.
  const auto both = [](const char* model, int stages) {
    const Oracle oracle = ask(query_of(model, "abci", fmt::format("-s layer -p {}", stages)), shipped());
    const Projection p = oracle.sweep().front();
    Setting simple = oracle.setting();
    simple.training.stage_cut = StageCut::balanced_layers;
    return std::pair{p, Evaluator(simple).project(p.plan)};
  };
  for (const auto& [model, stages] :
       {std::pair{"resnet50", 64}, {"resnet50", 8}, {"resnet152", 16}, {"vgg16", 8}, {"densenet121", 8}}) {
    const auto [p, other] = both(model, stages);
    CAPTURE(std::string(model));
    CAPTURE(stages);
    CHECK(p.feasible() == other.feasible());
    CHECK(p.iteration() <= other.iteration());
  }
  // A cut that fits is better than a faster one that does not.
  const auto [p, other] = both("densenet121", 32);
  CHECK(other.feasible());
  CHECK(p.feasible());
}

TEST_CASE("balanced stages are never slower than equal numbers of blocks") {
  for (const Run& run : {
           Run{"gpt2", "selene", "megatron", "data+layer+tensor", "2x2x4", "32", "8", 16},
           {"gpt2", "selene", "megatron", "data+layer+tensor", "2x4x2", "32", "8", 16},
           {"gpt2", "selene", "ddp", "data+layer", "2x4", "32", "8", 8},
           {"gpt2", "abci", "ideal", "data+layer", "2x4", "32", "8", 8},
           {"bert-large", "selene", "megatron", "layer", "4", "32", "8", 4},
           {"llama2-7b", "selene", "megatron", "layer+tensor", "4x4", "64", "16", 16},
           {"gpt3-175b", "selene", "megatron", "layer+tensor", "8x8", "64", "32", 64},
       }) {
    CAPTURE(run.model);
    CAPTURE(run.framework);
    CAPTURE(run.grid);
    CHECK(iteration(run, "balanced") <= iteration(run, "equal") * (1 + 1e-9));
  }
}

}  // namespace paradl::test
