// The ledger lists the cost charge by charge.
#include <cmath>

#include <doctest/doctest.h>

#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/random_plans.hpp"
#include "tests/support/shipped_case.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

struct Checked {
  int plans = 0;
  double worst_time = 0, worst_bytes = 0;  // relative to the cost
};

Checked check(const ShippedCase& c, unsigned seed, int plans) {
  const Evaluator evaluator(c.setting());
  RandomPlans random(c.work, seed);
  Checked out;
  for (int tries = 0; out.plans < plans && tries < 20 * plans; ++tries) {
    const Plan plan = random.next();
    if (!evaluator.limits(plan).hold()) continue;
    ++out.plans;
    const Evaluation e = evaluator.evaluate(plan);
    std::array<Seconds, terms> by_term{};
    Seconds exposed;
    Bytes bytes;
    for (const Charge& charge : ledger_of(e)) {
      by_term[std::size_t(charge.term)] += charge.exposed;
      exposed += charge.exposed;
      bytes += charge.count * charge.bytes;
    }
    const double iteration = e.cost.iteration().base();
    out.worst_time = std::max(out.worst_time, std::abs(exposed.base() / iteration - 1));
    for (std::size_t t = 0; t < terms; ++t)
      out.worst_time =
          std::max(out.worst_time, std::abs((by_term[t] - e.cost[Term(t)]).base()) / iteration);
    const double traffic = e.cost.traffic.base();
    out.worst_bytes = std::max(out.worst_bytes, std::abs(bytes.base() - traffic) / std::max(1.0, traffic));
  }
  return out;
}

}  // namespace

TEST_CASE("exposed charges sum to the cost and bytes to the traffic, for thousands of random plans") {
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
        CAPTURE(model);
        CAPTURE(framework);
        CAPTURE(overlap);
        const Checked checked = check(c, seed++, 170);
        plans += checked.plans;
        CHECK(checked.worst_time < 1e-9);
        CHECK(checked.worst_bytes < 1e-9);
      }
  CAPTURE(plans);
  CHECK(plans >= 10'000);
}

TEST_CASE("without overlap, a charge is the time of its exchange") {
  // data=2,filter=2 on a chain of three convolutions: no charge is scaled, since nothing hides.
  Bench bench(chain(3), flat_machine(), without_overlap());
  const Projection p = bench.engine("data+filter", "2x2", 16);
  const Evaluation e = bench.evaluator->evaluate(p.plan);
  for (const Charge& charge : ledger_of(e))
    if (charge.operation)
      CHECK(charge.exposed.base() == approx((charge.count * charge.each).base()));
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
