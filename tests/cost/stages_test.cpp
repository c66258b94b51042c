// Pipelines as the engine prices them: cuts, times of schedules, and memory of stages.
#include <algorithm>

#include <doctest/doctest.h>

#include "paradl/cost/ledger.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/mesh/partition.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

constexpr double alpha = 10e-6, beta = 1e-10;  // of flat_machine

Training with_cut(StageCut cut) {
  Training t = without_overlap();
  t.stage_cut = cut;
  return t;
}
Training by_layers() { return with_cut(StageCut::balanced_layers); }

Plan pipelined(int S, PipelineSchedule schedule, int chunks = 1) {
  return {.micro_batches = S, .schedule = schedule, .chunks = chunks};
}

Plan interleaved(int S, int chunks) { return pipelined(S, PipelineSchedule::interleaved, chunks); }

double term(const Projection& p, Term t) { return (*p.cost)[t].base(); }

Workload gpt(const std::string& numbers) { return load_model(shipped(), "gpt:" + numbers).second; }

/// The time that the longest stage takes for one sample.
double longest(const std::vector<double>& weight, const std::vector<int>& first) {
  double most = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    double sum = 0;
    const auto end = s + 1 < first.size() ? std::size_t(first[s + 1]) : weight.size();
    for (auto l = std::size_t(first[s]); l < end; ++l) sum += weight[l];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

TEST_CASE("equal stages idle (p-1)/(S+p-1) of the passes, interleaved (p-1)/(V S+p-1)") {
  for (const int S : {4, 8, 12}) {
    for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_backward}) {
      Bench bench(chain(12), flat_machine(), by_layers(), pipelined(S, schedule));
      const Projection p = bench.engine("layer", "4", 96);
      REQUIRE(p.cost);
      const double passes = term(p, Term::forward) + term(p, Term::backward) + term(p, Term::bubble);
      CHECK(term(p, Term::bubble) / passes == approx(3.0 / (S + 3)));
      CHECK(p.iteration().base() ==
            approx(passes + term(p, Term::stage_transfer) + term(p, Term::update)).epsilon(1e-12));
    }
    for (const int V : {3}) {
      Bench bench(chain(12), flat_machine(), by_layers(), interleaved(S, V));
      const Projection p = bench.engine("layer", "4", 96);
      REQUIRE(p.cost);
      const double passes = term(p, Term::forward) + term(p, Term::backward) + term(p, Term::bubble);
      CHECK(term(p, Term::bubble) / passes == approx(3.0 / (V * S + 3)));
    }
  }
}

TEST_CASE("the terms of a pipeline are those of its executed schedule") {
  // Uneven stages: three of one convolution, and one of two.
  Bench bench(chain(5), flat_machine(), by_layers(),
              pipelined(6, PipelineSchedule::one_forward_one_backward));
  const Projection p = bench.engine("layer", "4", 24);
  const auto timeline = bench.evaluator->timeline(p.plan);
  Seconds end;
  for (const auto& stage : timeline.passes) {
    REQUIRE(stage.size() == 12);
    end = std::max(end, stage.back().end);
  }
  double sum = 0;
  for (const Term t : {Term::forward, Term::backward, Term::bubble, Term::stage_transfer}) sum += term(p, t);
  CHECK(sum == approx(end.base()).epsilon(1e-12));
  CHECK(term(p, Term::bubble) > 0);
  CHECK(term(p, Term::stage_transfer) > 0);
}

TEST_CASE("ResNet-152 in four stages: balanced by time, not by the number of layers") {
  const Workload work = build_workload(shipped().model("resnet152"));
  const Machine machine = build_machine(shipped().system("abci"));
  const LayerTimes times = layer_times(work, machine, Precision::fp32, Optimizer::momentum);
  std::vector<double> weight;
  double all = 0;
  for (const LayerTime& t : times.layer) all += weight.emplace_back((t.FW + t.BW).base());
  std::vector<int> equal;
  for (std::size_t s = 0; s < 4; ++s) equal.push_back(int(s * weight.size() / 4));
  const double balanced = longest(weight, balanced_partition(weight, 4)), counted = longest(weight, equal);
  MESSAGE("ResNet-152, longest of 4 stages over the mean: balanced ", 4 * balanced / all,
          ", equal layer counts ", 4 * counted / all);
  CHECK(balanced < 0.9 * counted);
  CHECK(4 * balanced / all < 1.05);

  // The whole iteration, too, with what the borders send.
  Bench bench(work, machine, by_layers(), pipelined(8, PipelineSchedule::one_forward_one_backward));
  const Projection p = bench.engine("layer", "4", 64);
  const double ideal = 64 * all / 4;
  CHECK(term(p, Term::forward) + term(p, Term::backward) < 1.05 * ideal);
}

TEST_CASE("borders avoid large messages") {
  // Between a and b there are eight times as many items as between b and c.
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n"
      "  - {name: b, op: conv, filters: 1, kernel: 1, bias: false}\n"
      "  - {name: c, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n"
      "  - {name: d, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n");
  const auto first = [&](StageCut cut) {
    Bench bench(work, flat_machine(), with_cut(cut), pipelined(4, PipelineSchedule::gpipe));
    const Projection p = bench.engine("layer", "2", 32);
    return bench.evaluator->evaluate(p.plan).stages->first_layer;
  };
  CHECK(first(StageCut::balanced) == std::vector{0, 2});
}

TEST_CASE("blocks in equal numbers: the last stage also has the logits") {
  const Workload work = gpt("layers=8,hidden=64,heads=4,seq=32,vocab=1000");
  Bench bench(work, flat_machine(), with_cut(StageCut::equal_blocks),
              pipelined(4, PipelineSchedule::one_forward_one_backward));
  const Projection p = bench.engine("layer", "4", 32);
  const StagePlan& plan = *bench.evaluator->evaluate(p.plan).stages;
  for (std::size_t s = 1; s < 4; ++s)
    CHECK(work.layers[std::size_t(plan.first_layer[s])].name == "layer." + std::to_string(2 * s) + ".norm1");
  CHECK(plan.kinds.size() == 3);  // the first, those in the middle, the last
  CHECK(plan.kind == std::vector{0, 1, 1, 2});
}

TEST_CASE("interleaved chunks: the pieces of a stage are not adjacent in the network") {
  Bench bench(gpt("layers=8,hidden=64,heads=4,seq=32,vocab=1000"), flat_machine(),
              with_cut(StageCut::equal_blocks), interleaved(8, 2));
  const Projection p = bench.engine("layer", "4", 32);
  REQUIRE(p.cost);
  const StagePlan& plan = *bench.evaluator->evaluate(p.plan).stages;
  CHECK(plan.first_layer.size() == 8);
  CHECK(plan.kinds.front().chunks.size() == 2);
  // More messages than without chunks, a shorter bubble.
  Bench other(gpt("layers=8,hidden=64,heads=4,seq=32,vocab=1000"), flat_machine(),
              with_cut(StageCut::equal_blocks), pipelined(8, PipelineSchedule::one_forward_one_backward));
  const Projection q = other.engine("layer", "4", 32);
  CHECK(term(p, Term::bubble) < term(q, Term::bubble));
  CHECK(term(p, Term::stage_transfer) > term(q, Term::stage_transfer));
  CHECK(p.cost->memory.weights.base() == approx(q.cost->memory.weights.base()));
}

TEST_CASE("activations in flight: all with GPipe, as many as stages with 1F1B, more with chunks") {
  // Equal convolutions: the first stage keeps x of its layers, 2048 items each, for a micro-batch of 4
  // samples.
  const double one = 4 * 2048 * 4.0;
  const auto activations = [](const Plan& options) {
    Bench bench(chain(8), flat_machine(), by_layers(), options);
    return bench.engine("layer", "4", 32).cost->memory.activations.base();
  };
  CHECK(activations(pipelined(8, PipelineSchedule::gpipe)) == approx(2 * 8 * one));
  CHECK(activations(pipelined(8, PipelineSchedule::one_forward_one_backward)) == approx(2 * 4 * one));
  // 2 (p-1) + (V-1) p + 1 = 11 of half the size: 1 + (p-1)/(p V) = 1.375 times as many as 1F1B
  CHECK(activations(interleaved(8, 2)) == approx(11 * one));
}

TEST_CASE("weights tied between the first and the last stage: both have a copy, and sum its gradients") {
  const double table = 500 * 64;
  const auto projected = [](bool tied) {
    Bench bench(gpt("layers=4,hidden=64,heads=4,seq=32,vocab=500,tied=" + std::to_string(tied)),
                flat_machine(), by_layers(), pipelined(4, PipelineSchedule::one_forward_one_backward));
    return bench.engine("layer", "2", 8);
  };
  const Projection tied = projected(true), own = projected(false);
  REQUIRE((tied.cost && own.cost));
  // An allreduce between two: 2 (alpha + m/2 beta), m = 500 * 64 * 4 B
  CHECK(term(tied, Term::gradient_exchange) == approx(2 * (alpha + table * 4 / 2 * beta)));
  CHECK(term(own, Term::gradient_exchange) == 0);
  // The last stage stores the table like its own weights.
  CHECK(tied.cost->memory.weights.base() == approx(own.cost->memory.weights.base()));
}

TEST_CASE("with ZeRO 2, gradients of tied weights are summed for every micro-batch, and so are their bytes") {
  const auto tied_bytes = [](int zero) {
    Plan options = pipelined(4, PipelineSchedule::one_forward_one_backward);
    options.zero = zero;
    Bench bench(gpt("layers=4,hidden=64,heads=4,seq=32,vocab=500,tied=1"), flat_machine(), by_layers(),
                options);
    const Projection p = bench.engine("data+layer", "2x2", 16);
    Bytes tied, all;
    for (const Charge& charge : bench.evaluator->ledger(p.plan)) {
      const Bytes bytes = charge.count * charge.bytes;
      all += bytes;
      if (charge.kind == ChargeKind::tied_gradient_sum) tied += bytes;
    }
    CHECK(all.base() == approx(p.cost->traffic.base()));
    return tied.base();
  };
  const double table = 500 * 64 * 4;
  CHECK(tied_bytes(0) == approx(table));
  CHECK(tied_bytes(2) == approx(4 * table));
}

TEST_CASE("recomputation is shown by the share of the busiest stage") {
  // Some blocks are recomputed, and the last stage has the logits: stages have different shares.
  int differ = 0;
  for (const int words : {500, 5000, 20'000, 50'000})
    for (int blocks = 1; blocks < 8; ++blocks) {
      Plan options = pipelined(4, PipelineSchedule::one_forward_one_backward);
      options.recompute = Recompute::full, options.recomputed_blocks = blocks;
      Bench bench(gpt("layers=8,hidden=64,heads=4,seq=32,vocab=" + std::to_string(words)), flat_machine(),
                  without_overlap(), options);
      const Projection p = bench.engine("layer", "4", 16);
      const Evaluation e = bench.evaluator->evaluate(p.plan);
      const LayerSums& busiest = e.sums.kinds[e.sums.busiest()];
      const auto most_backward = std::ranges::max_element(e.sums.kinds, {}, &LayerSums::arithmetic);
      differ += most_backward->recomputed_share() != busiest.recomputed_share();
      CHECK(term(p, Term::recompute) == approx(4 * busiest.recompute.base()));
    }
  CHECK(differ > 0);
}

TEST_CASE("numbers that do not suit a pipeline are refused, and the nearest that do are named") {
  Bench six(chain(8), flat_machine(), by_layers(), interleaved(6, 2));
  const Projection rounds = six.engine("layer", "4", 24);
  CHECK_FALSE(rounds.cost);
  CHECK(reasons(rounds, six.work) ==
        "--micro-batches 6 must be a multiple of the 4 stages (interleaved schedule); nearest: 4 or 8");
  CHECK(reasons(six.engine("layer", "8", 24), six.work).find("nearest: 8") != std::string::npos);
  Bench many(chain(8), flat_machine(), by_layers(), interleaved(4, 3));
  CHECK(reasons(many.engine("layer", "4", 24), many.work) == "cannot divide 8 layers into 12 chunks");
  Bench five(chain(8), flat_machine(), by_layers(), pipelined(5, PipelineSchedule::gpipe));
  CHECK(reasons(five.engine("layer", "2", 24), five.work) ==
        "--micro-batches 5 must divide the 24 samples of a replica; nearest: 4 or 6");
  CHECK(reasons(five.engine("data+layer", "8x2", 24), five.work) ==
        "--micro-batches 5 must divide the 3 samples of a replica; the largest possible is 3");
  CHECK(reasons(five.engine("layer", "9", 25), five.work) == "cannot divide 8 layers into 9 stages");
}

TEST_CASE("stages are cut by measured links if there are any") {
  // a | b sends eight times as much as b | c. Specified links take no time; measured ones are slow.
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n"
      "  - {name: b, op: conv, filters: 1, kernel: 1, bias: false}\n"
      "  - {name: c, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n"
      "  - {name: d, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n");
  Machine machine = flat_machine();
  const auto first = [&] {
    Bench bench(work, machine, with_cut(StageCut::balanced), pipelined(4, PipelineSchedule::gpipe));
    const Projection p = bench.engine("layer", "3", 32);
    return bench.evaluator->evaluate(p.plan).stages->first_layer;
  };
  machine.levels[0].link.beta = 1.0 / Bandwidth{1e15};
  const std::vector<int> specified = first();
  machine.levels[0].measured = {
      {Collective::point_to_point, {}, Bytes{8}, Bytes{1e18}, {Seconds{1e-6}, SecondsPerByte{1e-8}}}};
  CHECK(first() != specified);
}
