// A plan prints as one would type it, and reads back as the same plan.
#include "paradl/query/plan_text.hpp"

#include <doctest/doctest.h>

#include "paradl/cost/question.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/random_plans.hpp"

namespace paradl::test {
namespace {

Case case_of(const char* model, const char* options) {
  return load(query_of(model, "abci", options), shipped());
}

/// Cases whose queries fix every option of a plan.
std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back(case_of("resnet50", ""));
  out.push_back(case_of("resnet50", "--zero 1 --micro-batches 4 --schedule interleaved:2"));
  out.push_back(case_of("vgg16", "--allreduce hd --schedule 1f1b -b 64"));
  out.push_back(case_of("cosmoflow-128", "--allreduce sparse-ring:0.0078"));
  out.push_back(case_of("gpt2", "--zero 3 --recompute full:4 --sequence-parallel on"));
  return out;
}

std::string refused(const std::string& text) {
  static const Case about = case_of("resnet50", "");
  return complaint([&] { parse_plan(text, about); });
}

}  // namespace

TEST_CASE("a plan prints every option") {
  const Case about = case_of("resnet50", "");
  CHECK(text(Plan{.batch = 32}) ==
        "1 batch=32 micro-batches=1 schedule=gpipe recompute=none zero=0 sequence-parallel=off "
        "allreduce=default");
  const std::string typed =
      "data=16,layer=8,tensor=8 batch=1536 micro-batches=96 schedule=interleaved:2 recompute=full:4 zero=1 "
      "sequence-parallel=on allreduce=sparse-ring:0.0078";
  CHECK(text(parse_plan(typed, about)) == typed);
  const std::string beyond =
      "data=4/ooc batch=512 micro-batches=1 schedule=1f1b recompute=selective zero=0 sequence-parallel=off "
      "allreduce=hd";
  CHECK(text(parse_plan(beyond, about)) == beyond);
  CHECK(parse_plan(beyond, about).out_of_core);
  CHECK(parse_plan("1/ooc", about) == Plan{.batch = about.work.batch, .out_of_core = true});
}

TEST_CASE("every plan reads back as the same plan, whatever the case") {
  const std::vector<Case> all = cases();
  for (const Case& one : all) {
    CAPTURE(one.work.name);
    RandomPlans random(one.work);
    std::vector<Allreduce> sums{{}};
    for (const Algorithm* algorithm : algorithms())
      if (algorithm->serves(Operation::allreduce))
        sums.push_back({algorithm, algorithm->sparse ? 1.0 / double(3 + random.below(1000)) : 1});
    std::size_t wrong = 0;
    for (int i = 0; i < 400; ++i) {
      Plan plan = random.next();
      plan.out_of_core = random.below(4) == 0;
      plan.allreduce = sums[random.below(sums.size())];
      for (const Case& about : all)
        if (const Plan back = parse_plan(text(plan), about); !(back == plan) && ++wrong == 1)
          FAIL_CHECK(text(plan), " reads as ", text(back));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("every cut of space reads back") {
  const std::vector<Case> all = cases();
  for (const char* strategy : {"spatial", "data+spatial", "context"})
    for (int extents = 1; extents <= 3; ++extents)
      for (const Mesh& mesh : meshes(read_strategy(strategy), 16, extents))
        for (const Case& about : all) CHECK(parse_plan(text(Plan{.mesh = mesh}), about).mesh == mesh);
  const auto cut = [&](const char* grid) { return parse_plan(grid, all.front()).mesh.axis[0].parts; };
  CHECK(cut("spatial=4") == Parts{4, {4, 1, 1}});
  CHECK(cut("spatial=4x1") == Parts{4, {4, 1, 1}});
  CHECK(cut("spatial=1x4") == Parts{4, {1, 4, 1}});
  CHECK(cut("spatial=1x1x4") == Parts{4, {1, 1, 4}});
}

TEST_CASE("missing options come from the case") {
  const Case about =
      case_of("resnet50", "--zero 1 --micro-batches 4 --schedule interleaved:2 --recompute full");
  const Plan plan = parse_plan("data=4,layer=2", about);
  CHECK(plan.batch == 8 * about.work.batch);  // the model's, for each GPU
  CHECK(plan.zero == 1);
  CHECK(plan.micro_batches == 4);
  CHECK(plan.schedule == PipelineSchedule::interleaved);
  CHECK(plan.chunks == 2);
  CHECK(plan.recompute == Recompute::full);
  CHECK(parse_plan("data=4 zero=0 recompute=none schedule=gpipe micro-batches=1", about) ==
        Plan{.mesh = parse_plan("data=4", about).mesh, .batch = 4 * about.work.batch});
  CHECK(parse_plan("data=4 batch=16/gpu", about).batch == 64);
  CHECK_FALSE(
      parse_plan("data=4 allreduce=default", case_of("resnet50", "--allreduce hd")).allreduce.algorithm);
}

TEST_CASE("what is not a plan is refused") {
  CHECK(refused("") == "usage: the plan is empty\nhelp: write a grid first: data=16,tensor=4 zero=1\n");
  CHECK(refused("4") ==
        "usage: --grid 4: the strategy is missing\nhelp: write data=16,filter=4, or add -s data+filter\n");
  CHECK(refused("date=4") == "usage: no strategy is called `date`\nhelp: did you mean `data`?\n");
  CHECK(refused("data=4,data=2") ==
        "usage: `data` appears twice in `data+data`\nhelp: name each axis once\n");
  CHECK(refused("data=0") ==
        "usage: cannot read `0` in the grid `data=0`\n"
        "help: write data=16,filter=4; a cut of space may be spatial=2x2\n");
  CHECK(refused("data=4 zeros=1") ==
        "usage: `zeros=1` is not an option of a plan\nhelp: did you mean `zero`?\n");
  CHECK(refused("data=4 zero") == "usage: `zero` has no value\nhelp: write zero=0\n");
  CHECK(refused("data=4 precision=fp16") ==
        "usage: `precision=fp16` is not an option of a plan\nhelp: write KEY=VALUE; keys are batch, "
        "micro-batches, schedule, recompute, zero, sequence-parallel, allreduce\n");
  CHECK(refused("data=4 zero=4") ==
        "usage: --zero 4: not a whole number from 0 to 3\nhelp: write --zero 3\n");
  CHECK(refused("data=4 batch=0") ==
        "usage: cannot read `0` as a mini-batch\n"
        "help: write 2048 (the whole mini-batch), 32/gpu or 64/node\n");
  CHECK(refused("data=4 micro-batches=0") ==
        "usage: --micro-batches 0: not a whole number from 1 to 1000000\nhelp: write --micro-batches 1\n");
  CHECK(refused("data=4 schedule=2f2b") ==
        "usage: --schedule 2f2b: not known\nhelp: use gpipe, 1f1b or interleaved:2\n");
  CHECK(refused("data=4 recompute=some") ==
        "usage: --recompute some: not known\nhelp: use none, selective, full, or full:24 for 24 blocks\n");
  CHECK(refused("data=4 sequence-parallel=maybe") ==
        "usage: --sequence-parallel maybe: not known\nhelp: use off, on\n");
  CHECK(refused("data=4 allreduce=pairwise") ==
        "usage: `pairwise` does not support allreduce\n"
        "help: use `ring`, `ring-bidirectional`, `ring-2d`, `hd` or one of 17 more\n");
  CHECK(refused("data=4 allreduce=hd:0.1") ==
        "usage: --allreduce hd:0.1: only sparse algorithms have a density\nhelp: write hd\n");
  CHECK(refused("data=4 allreduce=quick").starts_with("usage: no algorithm is called `quick`\n"));
}

}  // namespace paradl::test
