// An evaluator is a pure function: earlier calls and other threads change nothing.
#include <bit>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "paradl/cost/modelled_times.hpp"
#include "tests/support/random_plans.hpp"
#include "tests/support/shipped_case.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

ShippedCase modelled(const char* model, const char* system) {
  ShippedCase c = shipped_case(model, system, "ideal");
  c.times = modelled_times(c.times, c.work,
                           kernel_device(c.machine.device, c.training.precision, c.training.optimizer), "",
                           c.work.batch);
  return c;
}

/// Plans that break no limit.
std::vector<Plan> plans_of(const ShippedCase& c, std::size_t count, unsigned seed) {
  const Evaluator evaluator(c.setting());
  RandomPlans random(c.work, seed);
  std::vector<Plan> out;
  for (std::size_t tries = 0; out.size() < count && tries < 50 * count; ++tries)
    if (const Plan plan = random.next(); evaluator.limits(plan).hold()) out.push_back(plan);
  return out;
}

/// These plans and, where it can sum the gradients, the same with another allreduce.
std::vector<Plan> with_allreduce(const ShippedCase& c, std::vector<Plan> plans, const char* name) {
  const Evaluator evaluator(c.setting());
  for (std::size_t i = 0, n = plans.size(); i < n; ++i) {
    Plan plan = plans[i];
    plan.allreduce = {find_algorithm(name)};
    if (plan.zero == 0 && evaluator.limits(plan).hold()) plans.push_back(plan);
  }
  return plans;
}

/// Equal to the last bit.
bool same(const Cost& a, const Cost& b) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (std::size_t t = 0; t < terms; ++t)
    if (bits(a.exposed[t].base()) != bits(b.exposed[t].base())) return false;
  return bits(a.hidden.base()) == bits(b.hidden.base()) && bits(a.traffic.base()) == bits(b.traffic.base()) &&
         bits(a.memory.total().base()) == bits(b.memory.total().base()) && a.worst_stage == b.worst_stage;
}

}  // namespace

TEST_CASE("the same plan has the same cost to the last bit, whatever was evaluated before") {
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"}, {"gpt2", "selene"}}) {
    CAPTURE(model);
    const ShippedCase c = modelled(model, system);
    const std::vector<Plan> plans = with_allreduce(c, plans_of(c, 150, 7), "hd");
    REQUIRE(plans.size() > 150);
    const Evaluator forward(c.setting()), backward(c.setting());
    std::vector<Cost> costs;
    for (const Plan& plan : plans) costs.push_back(forward.cost(plan));
    for (std::size_t i = plans.size(); i-- > 0;) {
      CAPTURE(i);
      CHECK(same(backward.cost(plans[i]), costs[i]));
      CHECK(same(backward.evaluate(plans[i]).cost, costs[i]));
    }
  }
}

TEST_CASE("threads share one evaluator") {
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"}, {"gpt2", "selene"}}) {
    CAPTURE(model);
    const ShippedCase c = modelled(model, system);
    const std::vector<Plan> plans = plans_of(c, 120, 11);
    const Evaluator alone(c.setting()), shared(c.setting());
    std::vector<std::vector<Cost>> found(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < found.size(); ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < plans.size(); ++i)  // each starts at another plan
          found[t].push_back(shared.cost(plans[(i + t * plans.size() / 4) % plans.size()]));
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t t = 0; t < found.size(); ++t)
      for (std::size_t i = 0; i < plans.size(); ++i)
        CHECK(same(found[t][i], alone.cost(plans[(i + t * plans.size() / 4) % plans.size()])));
  }
}

TEST_CASE("the computation with another mini-batch does not depend on what was asked before") {
  ShippedCase c = modelled("gpt2", "selene");
  for (const double host : {0.0, 20e-6}) {  // of a kernel launch: then a GPU may wait, depending on its links
    c.training.framework.host = Seconds{host};
    const std::vector<Plan> plans = plans_of(c, 100, 13);
    const Evaluator shared(c.setting());
    for (const Plan& plan : plans) {
      const Evaluator alone(c.setting());
      const Seconds after_others = shared.computation(shared.evaluate(plan), 2 * plan.batch);
      CHECK(after_others == alone.computation(alone.evaluate(plan), 2 * plan.batch));
    }
  }
}

TEST_CASE("no pipeline is faster than its lower bound, and no other plan has one") {
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"}, {"gpt2", "selene"}}) {
    CAPTURE(model);
    const ShippedCase c = modelled(model, system);
    const Evaluator evaluator(c.setting());
    int pipelines = 0;
    for (const Plan& plan : plans_of(c, 300, 11)) {
      constexpr Seconds unlimited{std::numeric_limits<double>::infinity()};
      const Seconds bound = evaluator.at_least(plan, unlimited);
      const bool pipeline = stages_of(plan.mesh, c.work) > 1;
      CAPTURE(plan.micro_batches);
      CHECK((bound > Seconds{}) == pipeline);
      CHECK(bound <= (1 + 1e-12) * evaluator.cost(plan).iteration());
      // A bound that stops early lies between what was enough and the whole bound.
      for (const double share : {0.1, 0.5, 2.0}) {
        const Seconds early = evaluator.at_least(plan, share * bound);
        CHECK(early <= bound);
        CHECK((early > share * bound) == (pipeline && share < 1));
      }
      pipelines += pipeline;
    }
    CHECK(pipelines > 50);
  }
}

TEST_CASE("a mesh with every strategy has room for all its limits") {
  const ShippedCase c = shipped_case("gpt2", "selene", "ideal");
  Plan plan{.batch = 256, .micro_batches = 8, .schedule = PipelineSchedule::interleaved, .chunks = 2};
  plan.sequence_parallel = true;
  for (const Strategy* strategy : strategies())
    plan.mesh.axis[std::size_t(plan.mesh.axes++)] = {strategy, {.total = 2, .cut = {2, 1, 1}}};
  Limits limits;
  const Evaluator evaluator(c.setting());
  evaluator.add_axis_limits(plan, limits);
  evaluator.add_pipeline_limits(plan, limits);
  CHECK(limits.all().size() == std::size_t(plan.mesh.axes) + 3);
  CHECK(limits.all().size() + limit_rules.size() <= Limits::most);  // every other rule: at most once
}
