// A walk prices the plans of a space as Evaluator::cost() does, and leaves out those beyond their limits.
#include "paradl/search/walk.hpp"

#include <bit>

#include <doctest/doctest.h>

#include "paradl/cost/question.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/shipped_case.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

std::vector<Mesh> all_meshes(std::initializer_list<const char*> strategies, int gpus, const Workload& work) {
  std::vector<Mesh> out;
  for (const char* name : strategies)
    for (const Mesh& mesh : meshes(read_strategy(name), gpus, std::max(1, work.input.dims)))
      out.push_back(mesh);
  return out;
}

/// Meshes with every kind of table: pipelines, halos, sums, sequences; some beyond their limits.
Space space_of(const Workload& work, int gpus) {
  Space space;
  space.meshes = work.tokens
                     ? all_meshes({"data", "layer", "data+layer+tensor", "data+context"}, gpus, work)
                     : all_meshes({"data", "layer", "data+layer", "data+spatial", "data+filter"}, gpus, work);
  space.batches = {8.0 * gpus, 12};
  space.micro_batches = {1, 4, 8};
  space.schedules = {{}, {PipelineSchedule::one_forward_one_backward}, {PipelineSchedule::interleaved, 2}};
  space.recomputations = {{}, {Recompute::full, 2}};
  space.zero = {0, 1, 3};
  if (work.tokens) space.sequence_parallel = {false, true};
  return space;
}

/// Bit by bit.
bool same(const Cost& a, const Cost& b) {
  const auto bits = [](const auto& value) {
    return std::bit_cast<std::array<std::byte, sizeof value>>(value);
  };
  return bits(a.exposed) == bits(b.exposed) && bits(a.hidden) == bits(b.hidden) &&
         bits(a.memory) == bits(b.memory) && bits(a.traffic) == bits(b.traffic) &&
         a.worst_stage == b.worst_stage;
}

/// All plans of a space, in no special order.
template <class Visit>
void each_plan(const Space& space, Visit visit) {
  Plan plan{.allreduce = space.allreduce};
  for (const Mesh& mesh : space.meshes)
    for (const double batch : space.batches)
      for (const int micro_batches : space.micro_batches)
        for (const PipelineOrder& order : space.schedules)
          for (const Recomputation& recompute : space.recomputations)
            for (const int zero : space.zero)
              for (const bool sequence_parallel : space.sequence_parallel) {
                plan.mesh = mesh, plan.batch = batch, plan.micro_batches = micro_batches;
                plan.schedule = order.schedule, plan.chunks = order.chunks;
                plan.recompute = recompute.kind, plan.recomputed_blocks = recompute.blocks;
                plan.zero = zero, plan.sequence_parallel = sequence_parallel;
                visit(plan);
              }
}

}  // namespace

TEST_CASE("a walk visits the plans that keep their limits, with the costs of an evaluator") {
  const char *model = "resnet50", *framework = "ideal";
  Training changed;
  Allreduce sum;
  SUBCASE("a convolutional network") {}
  SUBCASE("statistics of batch-norms that are summed like gradients") {
    changed.synchronised_batch_norm = true;
  }
  SUBCASE("gradients after the backward pass") { changed.overlap = false; }
  SUBCASE("a requested allreduce") { sum = {find_algorithm("hd")}; }
  SUBCASE("a transformer") { model = "gpt2"; }
  SUBCASE("a transformer whose stages have equal numbers of blocks") {
    model = "gpt2", framework = "megatron";
    changed.stage_cut = StageCut::equal_blocks;
  }
  ShippedCase c = shipped_case(model, "abci", framework);
  c.training.synchronised_batch_norm = changed.synchronised_batch_norm;
  c.training.overlap = changed.overlap;
  c.training.stage_cut = changed.stage_cut;
  Space space = space_of(c.work, 8);
  space.allreduce = sum;
  std::vector<std::pair<Plan, Cost>> visited;
  const Evaluator walked(c.setting()), asked(c.setting());  // each fills caches in its own order
  walk(walked, space, [&](const Plan& plan, const Cost& cost) { visited.emplace_back(plan, cost); });

  std::size_t wrong = 0;
  for (const auto& [plan, cost] : visited) wrong += !same(cost, asked.cost(plan));
  CHECK(wrong == 0);

  std::size_t beyond = 0, missing = 0, all = 0;
  each_plan(space, [&](const Plan& plan) {
    ++all;
    const auto is = [&](const auto& one) { return one.first == plan; };
    const bool holds = asked.limits(plan).hold();
    beyond += !holds;
    missing += holds != (std::ranges::count_if(visited, is) == 1);
  });
  CHECK(missing == 0);
  CHECK(beyond > 100);
  CHECK(visited.size() > 100);
  CHECK(all == space.size());
  CHECK(visited.size() + beyond == all);
}

TEST_CASE("a walk allocates nothing for a plan once caches are warm") {
  for (const char* model : {"resnet50", "gpt2"})
    for (const StageCut cut : {StageCut::balanced, StageCut::equal_blocks}) {
      CAPTURE(model);
      ShippedCase c = shipped_case(model, "selene", "ideal");
      c.training.stage_cut = cut;
      const Evaluator evaluator(c.setting());
      Space space = space_of(c.work, 8);
      std::size_t plans = 0;
      const auto allocations_of = [&] {
        const std::size_t before = allocations();
        plans = 0;
        walk(evaluator, space, [&](const Plan&, const Cost&) { ++plans; });
        return allocations() - before;
      };
      CHECK(allocations_of() > 0);
      const std::size_t few = allocations_of();
      CHECK(few < 32);  // of the walk itself
      CHECK(plans > 200);
      for (int twice = 0; twice < 2; ++twice) {
        const std::size_t n = space.zero.size();
        space.zero.insert(space.zero.end(), space.zero.begin(), space.zero.begin() + long(n));
      }
      const std::size_t before = plans;
      CHECK(allocations_of() == few);
      CHECK(plans == 4 * before);
    }
}

TEST_CASE("an empty range has no plans") {
  const ShippedCase c = shipped_case("resnet50", "abci", "ideal");
  const Evaluator evaluator(c.setting());
  Space space = space_of(c.work, 4);
  space.zero.clear();
  std::size_t plans = 0;
  walk(evaluator, space, [&](const Plan&, const Cost&) { ++plans; });
  CHECK(plans == 0);
  CHECK(space.size() == 0);
}
