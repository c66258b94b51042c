// The ledger lists the cost charge by charge.
#include <cmath>

#include <doctest/doctest.h>

#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/random_plans.hpp"
#include "tests/support/shipped_case.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

/// The largest violation of each law by any plan, relative to its iteration.
struct Laws {
  int plans = 0, single = 0, pipelines = 0;
  int nameless = 0;     // exchanges without a formula
  double terms = 0;     // exposed charges of a term sum to it
  double alone = 0;     // on one stage, if nothing is hidden, so do their times one after the other
  double bytes = 0;     // bytes sum to the traffic
  double hides = 0;     // 0 <= exposed <= busy, for every charge
  double hidden = 0;    // what charges hide is what the cost calls hidden
  double schedule = 0;  // passes, bubble and transfers are the executed schedule
  double passes = 0;    // passes are those of the busiest stage in the executed schedule
  double updates = 0;   // if gradients are summed last, nothing hides the update
  double on_links = 0;  // an exchange takes at least its time on links; without framework terms no more
};

struct Sums {
  std::array<Seconds, terms> busy{}, exposed{};
  Bytes bytes;
  Seconds hidden;          // of gradient exchanges
  Seconds hidden_in_pass;  // of other exchanges
  Seconds summed;          // exposed sums of gradients
};

void add(double& worst, Seconds difference, Seconds of) {
  worst = std::max(worst, std::abs(difference / of));
}

/// Whether all messages of the framework take the links that the plan has in mind: not one port for each
/// tensor, and not the hosts, which some measured links are slower than.
bool is_direct(const Evaluation& e) {
  const Training& training = e.mesh.setting.training;
  return !gathers_by_tensor(training, e.plan.zero) && training.framework.halos == Transport::gpu;
}

/// The schedule is executed pass by pass, the cost finds its end in closed form.
void check_schedule(Laws& laws, const Evaluator& evaluator, const Evaluation& e, const Sums& sums) {
  using enum Term;
  Seconds passes, end, worked;
  for (const Term term : {forward, backward, recompute, activation_exchange, halo_exchange})
    passes += sums.exposed[std::size_t(term)];
  const Timeline timeline = evaluator.timeline(e.plan);
  for (const auto& stage : timeline.passes)
    for (const PipelineEvent& event : stage) end = std::max(end, event.end);
  const int busiest = e.stages->kinds[e.sums.busiest()].first;
  for (const PipelineEvent& event : timeline.passes[std::size_t(busiest)]) worked += event.end - event.begin;
  const Seconds waits = sums.exposed[std::size_t(bubble)] + sums.exposed[std::size_t(stage_transfer)];
  add(laws.schedule, passes + waits - end, end);
  add(laws.passes, passes - worked, end);
}

/// `ideal`: nothing but links delays messages.
void check(Laws& laws, const Evaluator& evaluator, const Plan& plan, bool ideal) {
  const Evaluation e = evaluator.evaluate(plan);
  const Seconds iteration = e.cost.iteration();
  Sums sums;
  for (const Charge& charge : ledger_of(e)) {
    const auto t = std::size_t(charge.term);
    sums.busy[t] += charge.busy, sums.exposed[t] += charge.exposed;
    sums.bytes += charge.count * charge.bytes;
    (charge.term == Term::gradient_exchange ? sums.hidden : sums.hidden_in_pass) +=
        is_communication(charge.term) && charge.term != Term::stage_transfer ? charge.hidden() : Seconds{};
    if (charge.term == Term::gradient_exchange && charge.kind != ChargeKind::weight_gather &&
        charge.kind != ChargeKind::copied_gradient_sum)
      sums.summed += charge.exposed;
    laws.nameless += charge.operation && text(charge.formula).empty();
    add(laws.hides, std::max(Seconds{}, charge.exposed - charge.busy), iteration);
    add(laws.hides, std::min(Seconds{}, charge.exposed), iteration);
    if (charge.operation && ideal) add(laws.on_links, charge.each - charge.on_links, iteration);
    if (charge.operation && is_direct(e))
      add(laws.on_links, std::min(Seconds{}, charge.each - charge.on_links), iteration);
  }
  for (std::size_t t = 0; t < terms; ++t) add(laws.terms, sums.exposed[t] - e.cost[Term(t)], iteration);
  const double traffic = e.cost.traffic.base();
  laws.bytes = std::max(laws.bytes, std::abs(sums.bytes.base() - traffic) / std::max(1.0, traffic));

  // The cost drops what it hides where that is only rounding.
  const Seconds behind_sums = e.cost.hidden - e.plan.micro_batches * e.sums.hidden;
  const Seconds largest = std::max(iteration, e.cost.communication());
  if (e.cost.hidden > Seconds{} || e.stages->stages == 1)
    add(laws.hidden, sums.hidden - std::max(Seconds{}, behind_sums), largest);
  ++laws.plans;
  if (e.stages->stages > 1) {
    ++laws.pipelines;
    check_schedule(laws, evaluator, e, sums);
    const auto update = std::size_t(Term::update);
    if (sums.summed > 1e-9 * iteration)
      add(laws.updates, sums.busy[update] - sums.exposed[update], iteration);
  } else {
    ++laws.single;
    if (!(e.cost.hidden > Seconds{}))
      for (std::size_t t = 0; t < terms; ++t) add(laws.alone, sums.busy[t] - e.cost[Term(t)], largest);
    add(laws.hidden, sums.hidden + sums.hidden_in_pass - e.cost.hidden, largest);
    add(laws.updates, sums.busy[std::size_t(Term::update)] - e.cost[Term::update], iteration);
  }
}

}  // namespace

TEST_CASE("charges follow from the same arithmetic as the cost, for thousands of random plans") {
  int plans = 0;
  unsigned seed = 1;
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"},
                                      {"vgg16", "dgx-a100"},
                                      {"cosmoflow-128", "abci"},
                                      {"tiny-cnn", "summit"},
                                      {"gpt2", "selene"},
                                      {"bert-large", "dgx-h100"},
                                      {"llama2-7b", "dgx-a100"},
                                      {"t5-large", "abci-a"}})
    for (const char* framework : {"ideal", "ddp", "chainermn", "megatron"})
      for (const bool overlap : {true, false}) {
        ShippedCase c = shipped_case(model, system, framework);
        c.training.overlap = overlap;
        c.training.synchronised_batch_norm = overlap;
        CAPTURE(std::string(model));
        CAPTURE(std::string(framework));
        CAPTURE(overlap);
        const Evaluator evaluator(c.setting());
        RandomPlans random(c.work, seed++);
        Laws laws;
        for (int tries = 0; laws.plans < 170 && tries < 20 * 170; ++tries)
          if (const Plan plan = random.next(); evaluator.limits(plan).hold())
            check(laws, evaluator, plan, framework == std::string("ideal"));
        plans += laws.plans;
        CHECK(laws.single > 10);
        CHECK(laws.pipelines > 10);
        CHECK(laws.terms < 1e-9);
        CHECK(laws.alone < 2e-9);
        CHECK(laws.bytes < 1e-9);
        CHECK(laws.nameless == 0);
        CHECK(laws.hides < 1e-9);
        CHECK(laws.hidden < 2e-9);
        CHECK(laws.schedule < 1e-9);
        CHECK(laws.passes < 1e-9);
        CHECK(laws.updates < 1e-9);
        CHECK(laws.on_links < 1e-9);
      }
  CAPTURE(plans);
  CHECK(plans >= 10'000);
}

TEST_CASE("charges of plans out of core sum to the cost") {
  const std::string slow_host = " --set host.bandwidth=100MB/s";
  for (const std::string words :
       {"-s data/ooc -p 4 -b 2048", "-s data+filter/ooc --grid data=1,filter=4 -b 1024",
        "-s serial/ooc -p 1 -b 512", "-s layer/ooc --grid layer=2 -b 2048 --micro-batches 4"})
    for (const std::string& host : {std::string(), slow_host})
      for (const char* overlap : {" --overlap on", " --overlap off"}) {
        CAPTURE(words + host + overlap);
        const Asked asked("resnet50", "abci", words + host + overlap);
        REQUIRE(asked.projection.cost);
        REQUIRE(asked.projection.out_of_core);
        REQUIRE(asked.projection.out_of_core->plans());
        const Evaluation e = asked.oracle.evaluator().evaluate(asked.projection.plan);
        std::array<Seconds, terms> exposed{};
        Bytes bytes;
        for (const Charge& charge : ledger_of(e)) {
          exposed[std::size_t(charge.term)] += charge.exposed;
          bytes += charge.count * charge.bytes;
          CHECK(charge.exposed <= (1 + 1e-9) * charge.busy);
        }
        for (std::size_t t = 0; t < terms; ++t)
          CHECK((exposed[t] / e.cost.iteration()) == approx(e.cost[Term(t)] / e.cost.iteration()));
        CHECK(bytes.base() == approx(e.cost.traffic.base()));
      }
}

TEST_CASE("without overlap, a charge is the time of its exchange") {
  // data=2,filter=2 on a chain of three convolutions: nothing hides.
  Bench bench(chain(3), flat_machine(), without_overlap());
  const Projection p = bench.engine("data+filter", "2x2", 16);
  const Evaluation e = bench.evaluator->evaluate(p.plan);
  for (const Charge& charge : ledger_of(e))
    if (charge.operation) {
      CHECK(charge.exposed.base() == approx((charge.count * charge.each).base()));
      CHECK(charge.exposed == charge.busy);
    }
}

TEST_CASE("a ledger by hand: data parallelism of two convolutions") {
  // 8 filters of 8 channels and 3x3: 576 weights a layer, 1152 in all, 4 B each, summed by 4 GPUs.
  Bench bench(chain(2), flat_machine(), without_overlap());
  const Projection p = bench.engine("data", "4", 32);
  const Evaluation e = bench.evaluator->evaluate(p.plan);
  int sums = 0;
  for (const Charge& charge : ledger_of(e)) {
    if (charge.kind != ChargeKind::gradient_sum) {
      CHECK_FALSE(charge.operation);
      continue;
    }
    ++sums;
    CHECK(charge.operation == Collective::allreduce);
    CHECK(charge.bytes.base() == approx(2 * 576 * 4));
    CHECK(charge.count == 1);
  }
  CHECK(sums == 1);
  CHECK(e.cost.traffic.base() == approx(2 * 576 * 4));
}
