// Transformers: memory and messages of one GPU, compared with the formulas of Korthikanti et al., Reducing
// activation recomputation in large transformer models (arXiv:2205.05198), and Rajbhandari et al., ZeRO
// (arXiv:1910.02054).
#include <doctest/doctest.h>

#include "paradl/judge/reason.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

constexpr double s = 512, h = 1024, a = 16, b = 4;

std::string gpt(int layers, const std::string& more = "") {
  return fmt::format("gpt:layers={},hidden=1024,heads=16,seq=512,vocab=51200{}", layers, more);
}

Workload network_of(const std::string& name) { return build_workload(shipped().model(name)); }

Training mixed() {
  Training t = without_overlap();
  t.precision = Precision::fp16;
  t.optimizer = Optimizer::adam;
  return t;
}

Memory memory_of(const std::string& model, const Training& t, const std::string& strategy,
                 const std::string& grid, double batch, const Plan& options = {}) {
  Bench bench(network_of(model), flat_machine(4096), t, options);
  const Projection p = bench.engine(strategy, grid, batch);
  REQUIRE(p.cost);
  return p.cost->memory;
}

/// Bytes of activations that one more layer adds.
double activations_of_layer(const Plan& options, const std::string& strategy, const std::string& grid,
                            const std::string& more = "") {
  const auto of = [&](int layers) {
    return memory_of(gpt(layers, more), mixed(), strategy, grid, b, options).activations.base();
  };
  return of(3) - of(2);
}

/// All exchanges of gradients and weights of an iteration on links without latency.
double exchange_time(const std::string& model, const Training& t, int zero, double batch = 8) {
  Machine machine = flat_machine();
  machine.levels[0].link.alpha = Seconds{};
  Bench bench(network_of(model), machine, t, {.zero = zero});
  return bench.engine("data", "8", batch).cost->communication().base();
}

}  // namespace

TEST_CASE("activations of a transformer layer: sbh(34 + 5as/h)") {
  CHECK(activations_of_layer({}, "serial", "1") == s * b * h * (34 + 5 * a * s / h));
  SUBCASE("with tensor size t: sbh(10 + 24/t + 5as/(ht))") {
    for (const double t : {2.0, 4.0, 8.0})
      CHECK(activations_of_layer({}, "tensor", fmt::format("{}", t)) ==
            s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  }
  SUBCASE("with sequence parallelism: sbh/t (34 + 5as/h)") {
    Plan sequence{.sequence_parallel = true};
    for (const double t : {2.0, 4.0, 8.0})
      CHECK(activations_of_layer(sequence, "tensor", fmt::format("{}", t)) ==
            s * b * h / t * (34 + 5 * a * s / h));
    sequence.recompute = Recompute::selective;
    // and selective recomputation: 34sbh/t
    for (const double t : {2.0, 4.0, 8.0})
      CHECK(activations_of_layer(sequence, "tensor", fmt::format("{}", t)) == 34 * s * b * h / t);
  }
  SUBCASE("selective recomputation drops the scores, full recomputation all but the layer's input") {
    Plan t{.recompute = Recompute::selective};
    CHECK(activations_of_layer(t, "serial", "1") == 34 * s * b * h);
    t.recompute = Recompute::full;
    CHECK(activations_of_layer(t, "serial", "1") == 2 * s * b * h);
    CHECK(activations_of_layer(t, "tensor", "8") == 2 * s * b * h);
    t.sequence_parallel = true;
    CHECK(activations_of_layer(t, "tensor", "8") == 2 * s * b * h / 8);
  }
  SUBCASE("flash attention keeps four bytes a row and head instead of scores") {
    CHECK(activations_of_layer({}, "serial", "1", ",flash=1") == s * b * (34 * h + 4 * a));
  }
  SUBCASE("context parallelism splits all of it") {
    CHECK(activations_of_layer({}, "context", "4", ",flash=1") == s * b * (34 * h + 4 * a) / 4);
  }
}

TEST_CASE("recomputing N blocks saves the activations of N blocks") {
  const auto activations = [](const Plan& options) {
    return memory_of(gpt(8), mixed(), "serial", "1", b, options).activations.base();
  };
  CHECK(activations({}) - activations({.recompute = Recompute::full, .recomputed_blocks = 3}) ==
        3 * s * b * h * (32 + 5 * a * s / h));
}

TEST_CASE("recomputation runs the forward pass of a block once more, with its exchanges") {
  Bench plain(network_of(gpt(4)), flat_machine(), mixed());
  Bench again(network_of(gpt(4)), flat_machine(), mixed(), {.recompute = Recompute::full});
  const auto was = *plain.engine("tensor", "4", 8).cost, is = *again.engine("tensor", "4", 8).cost;
  CHECK(is[Term::recompute] > Seconds{});
  CHECK(is[Term::recompute] < was[Term::forward]);  // the head is not recomputed
  CHECK(is[Term::backward].base() == approx(was[Term::backward].base()));
  // two allreduces of x for each of 4 layers: 6 steps of a quarter each
  const double x = 8 * s * h * 2;
  CHECK((is[Term::activation_exchange] - was[Term::activation_exchange]).base() ==
        approx(4 * 2 * 6 * (10e-6 + x / 4 * 1e-10)));
  Bench scores(network_of(gpt(4)), flat_machine(), mixed(), {.recompute = Recompute::selective});
  const auto less = *scores.engine("tensor", "4", 8).cost;
  CHECK(less[Term::recompute] < is[Term::recompute]);
  CHECK(less[Term::activation_exchange] == was[Term::activation_exchange]);
}

TEST_CASE(
    "sequence parallelism sends as much as tensor parallelism alone, and waits as long for the latest rank") {
  Training t = mixed();
  t.framework.sync = Seconds{1e-3};
  Machine machine = flat_machine();
  machine.levels[0].link.alpha = Seconds{};
  const auto exchange = [&](int layers, bool sequence_parallel) {
    Bench bench(network_of(gpt(layers)), machine, t, {.sequence_parallel = sequence_parallel});
    return (*bench.engine("tensor", "4", 8).cost)[Term::activation_exchange].base();
  };
  CHECK(exchange(3, true) - exchange(2, true) == approx(exchange(3, false) - exchange(2, false)));
}

TEST_CASE("weights, gradients and Adam in fp16: 18 bytes a weight, 16 with fp16 gradients") {
  const double weights = network_of(gpt(2)).parameters();
  Memory m = memory_of(gpt(2), mixed(), "serial", "1", 1);
  CHECK((m.weights + m.gradients + m.optimizer).base() == 18 * weights);
  Training t = mixed();
  t.short_gradients = true;
  m = memory_of(gpt(2), t, "serial", "1", 1);
  CHECK((m.weights + m.gradients + m.optimizer).base() == 16 * weights);
}

TEST_CASE("GPT-3 175B on 64 GPUs, tensor 8 and 8 stages") {
  // A stage has 12 layers of 12h^2 + 13h weights. Of these 12h^2 + 7h are split, and 6h (norms, and biases
  // added after the two sums) are not. The first one also has the table of 50257 words, padded to 51200, and
  // 2048 positions.
  const double H = 12288, layer = (12 * H * H + 7 * H) / 8 + 6 * H;
  const double weights = 12 * layer + 51200 * H / 8 + 2048 * H;
  Training t = mixed();
  t.stage_cut = StageCut::equal_blocks;
  Plan options{.micro_batches = 8, .schedule = PipelineSchedule::one_forward_one_backward};
  const auto projected = [&] {
    Bench bench(network_of("gpt3-175b"), flat_machine(4096), t, options);
    const Projection p = bench.engine("layer+tensor", "8x8", 8);
    REQUIRE(p.cost);
    CHECK(p.cost->worst_stage == 0);
    return p.cost->memory;
  };
  Memory m = projected();
  CHECK((m.weights + m.gradients + m.optimizer).base() == 18 * weights);
  // Activations of its 12 layers for the 8 micro-batches in flight, one sequence each (Korthikanti et al.,
  // table 2); the embedding's dropout has a mask of a byte, and the embedding two bytes a token.
  const double S = 2048, A = 96, each = S * H * (10 + 24 / 8.0 + 5 * A * S / (H * 8));
  CHECK(m.activations.base() == approx(8 * (12 * each + S * H + 2 * S / 8)).epsilon(1e-12));
  t.short_gradients = true;
  m = projected();
  CHECK((m.weights + m.gradients + m.optimizer).base() == 16 * weights);
  options.sequence_parallel = true, options.recompute = Recompute::selective;
  m = projected();
  CHECK(m.activations.base() == approx(8 * (12 * 34 * S * H / 8 + S * H / 8 + 2 * S / 8)).epsilon(1e-12));
}

TEST_CASE("the last stage has a copy of the embedding that its logits share") {
  const auto weights = [](const std::string& model, const std::string& strategy, const std::string& grid) {
    return memory_of(model, mixed(), strategy, grid, 1).weights.base();
  };
  CHECK(weights(gpt(4), "layer", "4") == weights(gpt(4, ",tied=0"), "layer", "4"));
  CHECK(weights(gpt(4), "serial", "1") < weights(gpt(4, ",tied=0"), "serial", "1"));
}

TEST_CASE("ZeRO: memory by the published formulas, exchanges 1, 1 and 1.5 times the allreduce") {
  Training t = mixed();
  t.short_gradients = true;  // the article's 16 bytes: 2 + 2 + 12
  const double W = network_of(gpt(2)).parameters(), N = 8;
  const auto state = [&](int zero) {
    const Memory m = memory_of(gpt(2), t, "data", "8", 8, {.zero = zero});
    return (m.weights + m.gradients + m.optimizer).base();
  };
  CHECK(state(0) == approx(16 * W));
  CHECK(state(1) == approx(4 * W + 12 * W / N));
  CHECK(state(2) == approx(2 * W + 14 * W / N));
  CHECK(state(3) == approx(16 * W / N));
  const double allreduce = exchange_time(gpt(2), mixed(), 0);
  CHECK(exchange_time(gpt(2), mixed(), 1) == approx(allreduce));
  CHECK(exchange_time(gpt(2), mixed(), 2) == approx(allreduce));
  CHECK(exchange_time(gpt(2), mixed(), 3) == approx(1.5 * allreduce));
  SUBCASE("each GPU updates its share") {
    const auto update = [&](int zero) {
      Bench bench(network_of(gpt(2)), flat_machine(), t, {.zero = zero});
      return (*bench.engine("data", "8", 8).cost)[Term::update].base();
    };
    CHECK(update(1) == approx(update(0) / 8));
  }
  SUBCASE("if hidden behind computation, the exposed time does not grow") {
    Training overlapped = mixed();
    overlapped.overlap = true;
    Bench bench(network_of(gpt(8)), flat_machine(), overlapped, {.zero = 3});
    const auto cost = *bench.engine("data", "8", 64).cost;
    overlapped.overlap = false;
    Bench exposed(network_of(gpt(8)), flat_machine(), overlapped, {.zero = 3});
    CHECK(cost.iteration() < exposed.engine("data", "8", 64).cost->iteration());
  }
}

TEST_CASE("gradients of micro-batches are summed once, and only one micro-batch is kept") {
  Bench whole(network_of(gpt(2)), flat_machine(), mixed());
  Bench pieces(network_of(gpt(2)), flat_machine(), mixed(), {.micro_batches = 4});
  const auto one = *whole.engine("data", "2", 16).cost, four = *pieces.engine("data", "2", 16).cost;
  CHECK(four[Term::gradient_exchange] == one[Term::gradient_exchange]);
  CHECK(four[Term::forward].base() == approx(one[Term::forward].base()));
  CHECK(four.memory.activations.base() == approx(one.memory.activations.base() / 4));
}

TEST_CASE("ring attention sends keys and values p-1 times forward, and also their gradients backward") {
  // One layer's block: b s/p positions, keys and values of h channels each.
  Training t = mixed();
  const auto exchange = [&](int layers) {
    Bench bench(network_of(gpt(layers)), flat_machine(), t);
    return (*bench.engine("context", "4", b).cost)[Term::activation_exchange].base();
  };
  const double block = b * s / 4 * 2 * h * 2;
  CHECK(exchange(2) - exchange(1) == approx(3 * (10e-6 + block * 1e-10) + 3 * (10e-6 + 2 * block * 1e-10)));
  SUBCASE("overlapped with the computation on the current block") {
    t.overlap = true;
    CHECK(exchange(2) - exchange(1) < 3 * (10e-6 + block * 1e-10) + 3 * (10e-6 + 2 * block * 1e-10));
  }
}

TEST_CASE("experts: tokens are sent to them and back, and each GPU has its share of the weights") {
  const std::string moe = ",experts=8,top-k=2";
  Training t = mixed();
  Bench bench(network_of(gpt(1, moe)), flat_machine(), t);
  // y of the dispatch, 2 of each token: 4 all-to-alls of a GPU's part, (p-1)(alpha + m/p beta) each
  const double m = 8 / 4.0 * 2 * s * h * 2;
  CHECK((*bench.engine("expert", "4", 8).cost)[Term::activation_exchange].base() ==
        approx(4 * 3 * (10e-6 + m / 4 * 1e-10)));
  const double experts = 8 * (2 * 4 * h * h + 5 * h), all = network_of(gpt(1, moe)).parameters();
  CHECK(memory_of(gpt(1, moe), t, "expert", "4", 8).weights.base() ==
        approx(2 * (all - experts + experts / 4)));
  CHECK(bench.engine("expert", "3", 8).limits.all()[0].rule == LimitRule::experts);
  CHECK_FALSE(bench.engine("expert", "3", 8).feasible());
}

TEST_CASE("a vocabulary that the tensor size does not divide is padded to a multiple of 128 t") {
  FrameworkTerms framework;
  CHECK(padded_vocabulary(50257, 1, framework) == 50257);
  CHECK(padded_vocabulary(50257, 8, framework) == 51200);
  CHECK(padded_vocabulary(50257, 4, framework) == 50688);
  CHECK(padded_vocabulary(51200, 8, framework) == 51200);
  framework.padding = VocabularyPadding::always;
  CHECK(padded_vocabulary(50257, 1, framework) == 50304);  // 393 x 128
  framework.vocabulary_multiple = 64;
  CHECK(padded_vocabulary(50257, 4, framework) == 50432);  // 197 x 256
  framework.padding = VocabularyPadding::never;
  CHECK(padded_vocabulary(50257, 8, framework) == 50257);
  const auto weights = [&](int vocab) {
    return memory_of(fmt::format("gpt:layers=1,hidden=64,heads=8,seq=32,vocab={}", vocab), mixed(), "tensor",
                     "8", 1)
        .weights.base();
  };
  CHECK(weights(50257) == weights(51200));
}

TEST_CASE("a padded vocabulary counts in times and in the accumulation of gradients") {
  const Machine machine = build_machine(shipped().system("selene"));
  const auto projected = [&](int vocab, Bytes accumulation) {
    Training t = mixed();
    t.framework.accumulation = accumulation;
    Bench bench(network_of(fmt::format("gpt:layers=2,hidden=1024,heads=16,seq=512,vocab={}", vocab)), machine,
                t);
    return *bench.engine("tensor", "8", 8).cost;
  };
  for (const double accumulation : {0.0, 6.0}) {
    const Cost padded = projected(50257, Bytes{accumulation}),
                    even = projected(51200, Bytes{accumulation});
    for (const Term term : {Term::forward, Term::backward, Term::update})
      CHECK(padded[term].base() == approx(even[term].base()).epsilon(1e-4));  // x does not grow
    CHECK(padded.memory.total().base() == approx(even.memory.total().base()));
    const Cost less = projected(50176, Bytes{accumulation});  // 49 * 128 * 8
    CHECK(less[Term::backward] < padded[Term::backward]);
  }
}

TEST_CASE("more parts than key and value heads: several parts have the same heads") {
  // 16 heads of 64, 2 of keys and values, 8 parts: each part has 2 query heads, one key head and one value
  // head, and 4 parts have the same ones.
  const std::string few = ",kv-heads=2,flash=1";
  const double parts = 8, qkv = (2 + 2) * 64;
  SUBCASE("weights: 256 filters of qkv for each part instead of 160") {
    const auto weights = [&](int layers) {
      return memory_of(gpt(layers, few), mixed(), "tensor", "8", b).weights.base();
    };
    // Norms (4h) and biases after the two sums (2h) are replicated; biases before the gelu (4h) are split.
    const double split = qkv * (h + 1) + (h * h + 4 * h * h + 4 * h + 4 * h * h) / parts;
    CHECK(weights(3) - weights(2) == 2 * (split + 6 * h));
  }
  SUBCASE("activations: the qkv of each part, 2 bytes an item") {
    // Of the 24 bytes that are split, 6 are queries, keys and values.
    CHECK(activations_of_layer({}, "tensor", "8", few) ==
          approx(s * b * (10 * h + 18 * h / parts + 2 * qkv + 4 * a / parts)));
    const auto workspace = [&](const std::string& more) {
      const Plan again{.recompute = Recompute::full};
      return memory_of(gpt(2, more), mixed(), "tensor", "8", b, again).workspace.base();
    };
    // Recomputed, they need memory for one block at a time; 16 heads would need 3 * 128 each.
    CHECK(workspace(",flash=1") - workspace(few) == approx(s * b * 2 * (3 * h / parts - qkv)));
  }
  SUBCASE("arithmetic: as with one key and value head for each part, except for the sum of gradients") {
    Bench copies(network_of(gpt(2, few)), flat_machine(), mixed());
    Bench own(network_of(gpt(2, ",kv-heads=8,flash=1")), flat_machine(), mixed());
    const auto shared = *copies.engine("tensor", "8", 8).cost, each = *own.engine("tensor", "8", 8).cost;
    CHECK(shared[Term::forward].base() == approx(each[Term::forward].base()));
    CHECK(shared[Term::backward].base() == approx(each[Term::backward].base()));
    CHECK(shared[Term::update].base() == approx(each[Term::update].base()));
    CHECK(shared.memory.total().base() == approx(each.memory.total().base()));
    // A key and a value head of 64 filters, h + 1 weights each, in 2 bytes: an allreduce of 4, in 2 layers.
    const double m = 2 * 64 * (h + 1) * 2;
    CHECK((shared[Term::gradient_exchange] - each[Term::gradient_exchange]).base() ==
          approx(2 * 2 * 3 * (10e-6 + m / 4 * 1e-10)));
  }
  SUBCASE("shapes for the kernel library") {
    const Workload work = network_of(gpt(1, few));
    for (const Layer& layer : work.layers) {
      Cut cut{.tensor = parts};
      if (layer.name.ends_with("qkv")) {
        cut.filters = parts;
        CHECK(local_layer(layer, cut, 1).y_channels == 256);
        CHECK(local_layer(layer, cut, 1).x_channels == 1024);
      }
      if (layer.op == Op::attention) {
        cut.both = parts;
        const LocalLayer local = local_layer(layer, cut, 1);
        CHECK(local.x_channels == 256);
        CHECK(local.y_channels == 128);
        CHECK(local.heads == 2);
        CHECK(local.kv_heads == 1);
      }
    }
  }
  SUBCASE("in a ring each part sends its head") {
    const auto exchanged = [&](const std::string& more) {
      Bench bench(network_of(gpt(2, more)), flat_machine(), mixed());
      return (*bench.engine("context+tensor", "4x8", 8).cost)[Term::activation_exchange].base();
    };
    CHECK(exchanged(few) == approx(exchanged(",kv-heads=8,flash=1")));
  }
  SUBCASE("one head for all (multi-query attention)") {
    Bench bench(network_of(gpt(1, ",kv-heads=1")), flat_machine(), mixed());
    CHECK(bench.engine("tensor", "16", 8).feasible());
  }
}

TEST_CASE(
    "parts that do not match the key and value heads are refused, and the nearest numbers that do are "
    "named") {
  Bench bench(network_of("gpt:layers=1,hidden=768,heads=48,kv-heads=6,seq=32,vocab=1024"), flat_machine(),
              mixed());
  for (const int p : {1, 2, 3, 6, 12, 24, 48}) CHECK(bench.engine("tensor", std::to_string(p), 8).cost);
  CHECK(reasons(bench.engine("tensor", "4", 8), bench.work) ==
        "tensor=4 must divide the 6 key and value heads, or be a multiple of them; nearest: 3 or 6 (layer "
        "layer.0.attention)");
  CHECK(says(reasons(bench.engine("tensor", "16", 8), bench.work), "nearest: 12 or 24"));
  CHECK(reasons(bench.engine("tensor", "5", 8), bench.work) ==
        "tensor=5 must divide the 48 heads; nearest: 4 or 6 (layer layer.0.attention)");
  CHECK(says(reasons(bench.engine("tensor", "96", 8), bench.work),
             "tensor=96 must divide the 48 heads; the largest possible is 48"));
}

TEST_CASE("numbers that do not divide evenly are refused, and the nearest that do are named") {
  Bench bench(network_of(gpt(1)), flat_machine(), mixed());
  const Projection p = bench.engine("tensor", "3", 8);
  CHECK_FALSE(p.feasible());
  CHECK(p.limits.all()[0].rule == LimitRule::heads);
  Bench pieces(network_of(gpt(1)), flat_machine(), mixed(), {.micro_batches = 3});
  CHECK_FALSE(pieces.engine("data", "2", 16).feasible());
  CHECK(pieces.engine("data", "2", 12).limits.hold());
}

TEST_CASE("biases of a product that sums over tensor parts are whole on each of them") {
  // By hand, fp16: fc1 and fc2 have 16 = 4 x 4 weights and 4 biases each. Two parts: half of fc1 and its
  // biases (8 + 2), half of fc2 and all its biases (8 + 4): 22 items of 2 B.
  const std::string layers =
      "  - {name: fc1, op: fc, filters: 4}\n  - {name: fc2, op: fc, filters: 4}\n  - {name: loss, op: "
      "loss}\n";
  Bench bench(work_of(layers, "4x16"), flat_machine(), mixed());
  CHECK(bench.engine("tensor", "2", 8).cost->memory.weights.base() == 44);
  CHECK(bench.engine("data", "2", 8).cost->memory.weights.base() == 80);
}

TEST_CASE("sequence parallelism divides a GPU's part of the sequence under context parallelism") {
  const Plan t{.sequence_parallel = true};
  Bench bench(network_of("gpt:layers=2,hidden=1024,heads=16,seq=1024,vocab=512"), flat_machine(4096),
              mixed(), t);
  CHECK(bench.engine("context+tensor", "256x4", 4).feasible());
  const Projection p = bench.engine("context+tensor", "512x4", 4);  // 2 positions for 4 GPUs
  CHECK_FALSE(p.feasible());
  CHECK(reasons(p, bench.work) ==
        "tensor=4 must divide the 2 positions of a sequence on each part of `context` for "
        "--sequence-parallel; nearest: 2 (layer layer.0.attention)");
  // 12 divides the heads but not the sequence; 8 and 16 divide the sequence but not the heads.
  Bench twelve(network_of("gpt:layers=2,hidden=768,heads=12,seq=1024,vocab=512"), flat_machine(4096),
               mixed(), t);
  CHECK(says(reasons(twelve.engine("tensor", "12", 4), twelve.work),
             "tensor=12 must divide the 1024 positions of a sequence for --sequence-parallel; nearest: 4 ("));
}
