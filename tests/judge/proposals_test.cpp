// Every proposed change, to make a plan fit or faster, can be appended to its question and gives the promised
// result.
#include <algorithm>

#include <doctest/doctest.h>

#include "paradl/judge/fitting.hpp"
#include "tests/support/asked.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

struct Question {
  std::string model, system, words;
};

/// Transformers and CNNs that fit or do not, on several machines, with options that changes would alter.
const std::vector<Question>& questions() {
  static const std::string gpt = "gpt:layers=16,hidden=2048,heads=16,seq=2048,vocab=51200";
  static const std::string experts =
      "llama:layers=8,hidden=2048,heads=16,seq=2048,vocab=32000,experts=8,top-k=2";
  static const std::vector<Question> all{
      {gpt, "abci", "-s tensor -p 4 -b 8 --reduction allreduce --precision fp16 --optimizer adam"},
      {gpt, "abci", "-s data+tensor -p 16 -b 64 --reduction allreduce"},
      {gpt, "abci", "-s data+tensor -p 16 -b 4/gpu --precision fp16 --optimizer adam"},
      {gpt, "selene", "-s data+tensor -p 8 -b 64 --allreduce hd --set device.memory=24GiB"},
      {gpt, "dgx-a100", "-s data -p 8 -b 8/gpu --optimizer adam --set device.memory=16GiB"},
      {gpt, "dgx-a100", "-s layer -p 4 -b 32 --micro-batches 8 --schedule gpipe --set device.memory=16GiB"},
      {gpt, "dgx-a100",
       "-s data+layer+tensor -p 16 -b 64 --micro-batches 4 --schedule interleaved:2 "
       "--precision bf16 --optimizer adam --set device.memory=4GiB"},
      {gpt, "dgx-h100", "-s layer+tensor -p 16 -b 64 --micro-batches 8 --schedule 1f1b --framework megatron"},
      {gpt, "dgx-h100", "-s context+tensor -p 8 -b 8 --precision bf16 --set device.memory=6GiB"},
      {gpt, "laptop", "-s serial -p 1 -b 4 --precision fp16"},
      {gpt, "laptop", "-s serial -p 1 -b 4 --recompute selective:4"},
      {experts, "dgx-a100", "-s data+expert -p 8 -b 64 --precision bf16 --set device.memory=8GiB"},
      {experts, "dgx-a100", "-s expert+tensor -p 16 -b 64 --reduction allreduce --set device.memory=10GiB"},
      {"t5-large", "dgx-a100", "-s data+tensor -p 16 -b 16/gpu --optimizer adam --set device.memory=20GiB"},
      {"vit-l-16", "abci", "-s data+tensor -p 16 -b 64/gpu --sequence-parallel off"},
      {"vit-l-16", "abci", "-s tensor -p 4 -b 256 --reduction allreduce"},
      {"bert-large", "dgx1-v100", "-s data -p 16 -b 32/gpu --optimizer adam --zero 1"},
      {"resnet50", "abci", "-s layer -p 64"},
      {"resnet50", "abci", "-s data -p 16 -b 256/gpu"},
      {"resnet50", "abci", "-s data+spatial -p 16 -b 512/node --framework chainermn"},
      {"resnet50", "abci", "-s filter -p 16 -b 64 --reduction allreduce"},
      {"resnet152", "abci", "-s data+layer -p 16 -b 512 --micro-batches 2 --schedule gpipe"},
      {"vgg16", "abci", "-s data+filter -p 64 -b 32/node --allreduce hd"},
      {"vgg16", "dgx-a100", "-s data+channel -p 16 -b 64 --overlap off"},
      {"cosmoflow-512", "abci", "-s data+spatial -p 16 -b 4/node --input node --shuffle global"},
      {"cosmoflow-512", "abci", "-s data+spatial -p 16 -b 1/node --input shared --staging leader"},
  };
  return all;
}

std::string at(const Projection& p, const Setting& setting) {
  const std::string strategy = "-s " + p.strategy();
  const Mesh& mesh = p.plan.mesh;
  return mesh.axes == 0 ? strategy
                        : strategy + " --grid " + exact_grid(mesh, std::max(1, setting.work.input.dims));
}

}  // namespace

TEST_CASE("every way to fit can be typed as proposed, and gives the promised result") {
  int ways = 0, alone = 0;
  for (const auto& [model, system, words] : questions()) {
    const Asked asked(model, system, words);
    CAPTURE(model);
    CAPTURE(words);
    for (const Remedy& way : ways_to_fit(asked.projection, asked.oracle.evaluator())) {
      CAPTURE(way.option);
      const Asked again(model, system, words + " " + way.option);
      REQUIRE(again.projection.feasible());
      CHECK(again.projection.gpus == way.projection.gpus);
      CHECK(again.projection.cost->memory.total() == way.projection.cost->memory.total());
      CHECK(again.projection.iteration() == way.projection.iteration());
      ++ways;
      // Without the grid, the best one is taken, which is not slower.
      const Asked best(model, system, words + " " + way.change);
      REQUIRE(best.projection.feasible());
      CHECK(best.projection.epoch() <= way.projection.epoch());
      alone += best.projection.epoch() < way.projection.epoch();
    }
  }
  CHECK(ways > 40);
  CHECK(alone > 0);
}

TEST_CASE(
    "the proposed number of micro-batches is the least divisor of the samples that fits, not a power of "
    "two") {
  // 675 = 27 * 25 samples a GPU: in three pieces they do not fit, in five they do.
  const std::string words = "-s data -p 4 -b 675/gpu";
  const Asked asked("resnet50", "abci", words);
  const auto ways = ways_to_fit(asked.projection, asked.oracle.evaluator());
  REQUIRE_FALSE(ways.empty());
  CHECK(ways.front().option.ends_with("--micro-batches 5"));
  CHECK_FALSE(Asked("resnet50", "abci", words + " --micro-batches 3").projection.feasible());
  CHECK(Asked("resnet50", "abci", words + " --micro-batches 9").projection.iteration() >
        ways.front().projection.iteration());
}

TEST_CASE("every remedy can be typed as proposed, and gives the promised result") {
  int remedies = 0;
  for (const auto& [model, system, words] : questions()) {
    const Asked asked(model, system, words);
    CAPTURE(model);
    CAPTURE(words);
    Examiner examiner = examiner_of(asked.oracle);
    for (Bottleneck& b : examiner.bottlenecks(asked.projection)) {
      examiner.price(b, asked.projection);
      for (const PricedAlternative& remedy : b.remedies) {
        CAPTURE(remedy.change.option);
        const std::string here = " " + at(asked.projection, asked.oracle.setting());
        const Asked again(model, system, words + here + " " + remedy.change.option);
        REQUIRE(again.projection.feasible());
        CHECK(again.projection.epoch().base() == doctest::Approx(remedy.epoch.base()).epsilon(1e-9));
        CHECK(again.projection.cost->memory.total().base() ==
              doctest::Approx(remedy.memory.base()).epsilon(1e-9));
        ++remedies;
      }
    }
  }
  CHECK(remedies > 15);
}

TEST_CASE("sequence parallelism is not proposed if whole sums were requested") {
  const auto proposes = [](const std::string& more) {
    const Asked asked("gpt:layers=16,hidden=2048,heads=16,seq=2048,vocab=51200", "abci",
                      "-s tensor -p 4 -b 8 --precision fp16 --optimizer adam" + more);
    REQUIRE_FALSE(asked.projection.feasible());
    const auto ways = ways_to_fit(asked.projection, asked.oracle.evaluator());
    return std::ranges::any_of(ways, [](const Remedy& way) {
      return way.change.find("--sequence-parallel on") != std::string::npos;
    });
  };
  CHECK(proposes(""));
  CHECK_FALSE(proposes(" --reduction allreduce"));
}

TEST_CASE("changes that the paper's closed forms do not support are not proposed with them") {
  int changes = 0;
  for (const char* words : {"-s data -p 64 -b 64", "-s filter -p 16 -b 64", "-s layer -p 4 -b 64",
                            "-s data+filter -p 64 -b 64"}) {
    const std::string paper = std::string(words) + " --fidelity paper";
    const Asked asked("vgg16", "abci-paper", paper);
    Examiner examiner = examiner_of(asked.oracle);
    for (const Bottleneck& b : examiner.bottlenecks(asked.projection))
      for (const Alternative& change : b.changes) {
        CAPTURE(words);
        CAPTURE(change.option);
        CHECK_NOTHROW(Asked("vgg16", "abci-paper", paper + " " + change.option));
        ++changes;
      }
  }
  CHECK(changes > 4);
}
