// Framework effects by hand: nodes of four GPUs with two ports of 12.5 GB/s (40 us), 10 GB/s (10 us) inside;
// chains of convolutions with |x| = |y| = 2048 items and |w| = 576 items of 4 bytes.
#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

constexpr double in_alpha = 10e-6, in_beta = 1e-10, out_alpha = 40e-6, out_beta = 0.8e-10;
constexpr double W = 2 * 576 * 4;    // bytes of all weights of chain(2)
constexpr double y = 32 * 2048 * 4;  // bytes of an activation of 32 samples

double term(const Projection& p, Term t) { return (*p.cost)[t].base(); }

Machine hosted() {
  Machine machine = two_level_machine();
  machine.host = HostSpec{.memory = {}, .bandwidth = Bandwidth{16e9}, .staged = {}};
  return machine;
}

Machine staged() {
  Machine machine = hosted();
  machine.host->staged = StagedSpec{Seconds{100e-6}, Bandwidth{1e9}, Bandwidth{2e9}};
  return machine;
}

}  // namespace

TEST_CASE("a flat ring is as slow as its links between nodes, and uses all ports of a node") {
  Training t = without_overlap();
  t.framework.flat_rings = true;
  // One ring through 16 GPUs: 2(p-1)(alpha + W/p beta/2), because it has both ports for itself.
  CHECK(term(Bench(chain(2), two_level_machine(), t).engine("data", "16", 32), Term::gradient_exchange) ==
        approx(30 * (out_alpha + W / 16 * out_beta / 2)));
  // Inside a node it only uses the node's link.
  CHECK(term(Bench(chain(2), two_level_machine(), t).engine("data", "4", 32), Term::gradient_exchange) ==
        approx(6 * (in_alpha + W / 4 * in_beta)));
}

TEST_CASE("leaders reduce the gradients of a node, send them through one port, and broadcast") {
  Training t = without_overlap();
  t.framework.hybrid_gradients = GradientRoute::leader;
  const double n = 4;
  const double expected = 2 * W * in_beta + 2 * (n - 1) * (out_alpha + W / n * out_beta);
  // Under data+filter a node has four different parts of W/4; under data+spatial four addends of W.
  CHECK(term(Bench(chain(2), two_level_machine(), t).engine("data+filter", "4x4", 32),
             Term::gradient_exchange) == approx(expected));
  CHECK(term(Bench(chain(2), two_level_machine(), t).engine("data+spatial", "4x4", 32),
             Term::gradient_exchange) == approx(expected));
  // Data alone is not a hybrid, so leaders change nothing.
  CHECK(term(Bench(chain(2), two_level_machine(), t).engine("data", "16", 32), Term::gradient_exchange) ==
        term(Bench(chain(2), two_level_machine(), without_overlap()).engine("data", "16", 32),
             Term::gradient_exchange));
}

TEST_CASE("packing gradients costs a time per tensor and per byte") {
  Training t = without_overlap();
  const double plain =
      term(Bench(chain(2), flat_machine(), t).engine("data", "4", 32), Term::gradient_exchange);
  t.framework.tensor = Seconds{50e-6};
  t.framework.packing = SecondsPerByte{1e-9};
  CHECK(term(Bench(chain(2), flat_machine(), t).engine("data", "4", 32), Term::gradient_exchange) ==
        approx(plain + 2 * 50e-6 + W * 1e-9));
  CHECK(term(Bench(chain(2), flat_machine(), t).engine("data", "1", 32), Term::gradient_exchange) == 0);
}

TEST_CASE(
    "each GPU packs its gradients for the sum within a node, and a leader those of its node for the other "
    "sum") {
  Training t = without_overlap();
  t.framework.hybrid_gradients = GradientRoute::leader;
  const auto exchange = [&](const std::string& strategy) {
    return term(Bench(chain(2), two_level_machine(), t).engine(strategy, "4x4", 32), Term::gradient_exchange);
  };
  const double filter = exchange("data+filter"), spatial = exchange("data+spatial");
  t.framework.tensor = Seconds{50e-6};
  t.framework.packing = SecondsPerByte{1e-9};
  // Two tensors. Under data+spatial all GPUs of a node have the same tensors: twice W.
  CHECK(exchange("data+spatial") == approx(spatial + 2 * 2 * 50e-6 + 2 * W * 1e-9));
  // Under data+filter each has a quarter of both: first W/4, then the quarters of all four.
  CHECK(exchange("data+filter") == approx(filter + (2 + 4 * 2) * 50e-6 + (W / 4 + W) * 1e-9));
}

TEST_CASE("a stage packs only its own tensors") {
  Training t = without_overlap();
  const auto exchange = [&] {
    return term(Bench(chain(4), two_level_machine(), t, {.micro_batches = 2}).engine("data+layer", "4x2", 32),
                Term::gradient_exchange);
  };
  const double plain = exchange();
  t.framework.tensor = Seconds{50e-6};
  CHECK(exchange() == approx(plain + 2 * 50e-6));  // two of four layers
}

TEST_CASE("a split layer costs copies, a whole one does not") {
  Training t = without_overlap();
  const auto compute = [&](const std::string& strategy) {
    return Bench(chain(2), flat_machine(), t).engine(strategy, "4", 32).cost->compute().base();
  };
  const double data = compute("data"), filter = compute("filter"), spatial = compute("spatial");
  t.framework.split_layer = Seconds{3e-3};
  CHECK(compute("data") == approx(data));
  CHECK(compute("filter") == approx(filter + 6e-3));
  CHECK(compute("spatial") == approx(spatial + 6e-3));
}

TEST_CASE("collectives through the host copy their buffers out and in") {
  Training t = without_overlap();
  const auto exchanged = [&](const std::string& strategy) {
    return term(Bench(chain(2), staged(), t).engine(strategy, "4", 32), Term::activation_exchange);
  };
  const double filter = exchanged("filter"), channel = exchanged("channel");
  t.transport = Transport::host;
  // filter: an allgather (the share out, the whole in) and an allreduce of y_1; copies run at 2 GB/s.
  CHECK(exchanged("filter") == approx(filter + (1.25 + 2) * y / 2e9));
  // channel: two allreduces and an allgather.
  CHECK(exchanged("channel") == approx(channel + (4 + 1.25) * y / 2e9));
  // If no rate was measured, the link between GPU and host counts.
  CHECK(term(Bench(chain(2), hosted(), t).engine("filter", "4", 32), Term::activation_exchange) ==
        approx(filter + 3.25 * y / 16e9));
  // An unknown host is an error, not a guess.
  CHECK_THROWS_AS(Bench(chain(2), two_level_machine(), t).engine("filter", "4", 32), UsageError);
}

TEST_CASE("ZeRO copies gradients and weights through the host, as an allreduce does") {
  Training t = without_overlap();
  const auto exchanged = [&](int zero) {
    return term(Bench(chain(2), staged(), t, {.zero = zero}).engine("data", "4", 32), Term::gradient_exchange);
  };
  const double whole = exchanged(0), sharded = exchanged(1);
  t.transport = Transport::host;
  CHECK(exchanged(0) == approx(whole + 2 * W / 2e9));
  // A reduce-scatter (the whole out, a share in) and an allgather (a share out, the whole in).
  CHECK(exchanged(1) == approx(sharded + 2 * 1.25 * W / 2e9));
}

TEST_CASE("halos through the host run at the rate of staged messages") {
  Training t = without_overlap();
  t.framework.halos = Transport::host;
  // A row: 8 channels * 16 * 32 samples * 4 B; two layers, two neighbours, forward and backward.
  const double row = 8 * 16 * 32 * 4;
  CHECK(term(Bench(chain(2), staged(), t).engine("spatial", "4", 32), Term::halo_exchange) ==
        approx(8 * (100e-6 + row / 1e9)));
}

TEST_CASE("a framework that only splits convolutions runs other layers whole, between gathers and sums") {
  const std::string layers =
      "  - {name: conv0, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: relu0, op: "
      "relu}\n"
      "  - {name: conv1, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: relu1, op: "
      "relu}\n";
  Training t = without_overlap();
  t.reduction = Reduction::reduce_scatter;
  t.framework.convolutions_only = t.framework.gathers_reduce = true;
  const auto exchanged = [&](const std::string& strategy) {
    return term(Bench(work_of(layers), flat_machine(), t).engine(strategy, "4", 32),
                Term::activation_exchange);
  };
  // filter: y of both convolutions is gathered; backward, dx of the second is reduce-scattered, and relu0
  // works on the parts.
  CHECK(exchanged("filter") == approx(3 * 3 * (in_alpha + y / 4 * in_beta)));
  // channel: y of both is all-reduced, and dx of the second is gathered for relu0.
  CHECK(exchanged("channel") == approx((2 * 6 + 3) * (in_alpha + y / 4 * in_beta)));
  // Unsplit layers take as long as on one GPU.
  const auto relus = [&](const std::string& strategy, const std::string& grid) {
    Bench bench(work_of("  - {name: relu, op: relu}\n  - {name: conv, op: conv, filters: 8, kernel: 1}\n"),
                flat_machine(), t);
    return term(bench.engine(strategy, grid, 32), Term::forward) -
           bench.times.layer[1].FW.base() * 32 / (grid == "1" ? 1 : 4);
  };
  CHECK(relus("filter", "4") == approx(relus("serial", "1")));
}

TEST_CASE("a pass takes at least the host's time to launch it, and a long pass hides the host") {
  Training t = without_overlap();
  t.framework.host = Seconds{1};
  const Projection p = Bench(chain(3), flat_machine(), t).engine("data", "4", 32);
  CHECK(term(p, Term::forward) == approx(3));
  CHECK(term(p, Term::backward) == approx(3 * 1.6));
  t.framework.host = Seconds{1e-12};
  const auto iteration = [](const Training& training) {
    return Bench(chain(3), flat_machine(), training).engine("data", "4", 32).iteration().base();
  };
  CHECK(iteration(t) == approx(iteration(without_overlap())));
}

TEST_CASE("a host that is as slow as its GPU delays it now and then: the 3-norm of both times") {
  Training t = without_overlap();
  const auto forward = [](const Training& training) {
    return term(Bench(chain(3), flat_machine(), training).engine("data", "4", 32), Term::forward);
  };
  const double alone = forward(t);
  t.framework.host = Seconds{alone / 3};                // for each of three layers
  CHECK(forward(t) == approx(std::cbrt(2.0) * alone));  // (1^3 + 1^3)^(1/3)
}

TEST_CASE("accumulated gradients cost a pass over the weights for every micro-batch") {
  Training t = without_overlap();
  const auto backward = [](const Training& training) {
    Bench bench(chain(3), flat_machine(), training, {.micro_batches = 4});
    return term(bench.engine("data", "2", 32), Term::backward);
  };
  const double before = backward(t);
  t.framework.accumulation = Bytes{6};
  const Bench bench(chain(3), flat_machine(), t);
  CHECK(backward(t) - before ==
        approx(4 * 6 * bench.work.parameters() / bench.machine.device.memory_bandwidth.base()));
}

TEST_CASE("each exchange of activations waits for the latest rank") {
  Training t = without_overlap();
  const auto exchanged = [](const Training& training, const char* parts) {
    return term(Bench(chain(3), flat_machine(), training).engine("filter", parts, 32),
                Term::activation_exchange);
  };
  const double two = exchanged(t, "2"), eight = exchanged(t, "8");
  t.framework.sync = Seconds{1};
  const double held_up = exchanged(t, "2") - two;
  CHECK(held_up >= 1);
  CHECK(exchanged(t, "8") - eight == approx(held_up));  // for any number of GPUs
  CHECK(exchanged(t, "1") == 0);
}

TEST_CASE("products with fused gradient accumulation overlap with the sums of tensor parallelism") {
  const Workload work = build_workload(shipped().model("gpt:layers=2,hidden=64,heads=4,seq=32,vocab=512"));
  const auto of = [&](const Training& training, const Plan& options = {}) {
    return Bench(work, flat_machine(), training, options).engine("tensor", "2", 8);
  };
  Training t = without_overlap();
  const Projection plain = of(t);
  t.framework.accumulation = Bytes{6};
  t.framework.hidden_sums = 0.5;
  t.framework.sync = Seconds{1};
  const Projection apart = of(t);
  CHECK(apart.cost->hidden == Seconds{});
  CHECK(term(apart, Term::backward) > term(plain, Term::backward));
  t.framework.accumulation = {};
  const Projection fused = of(t);
  CHECK(term(fused, Term::backward) == approx(term(plain, Term::backward)));
  CHECK(fused.cost->hidden > Seconds{});
  // Half of the time for bytes is hidden, but not the wait for the last rank.
  CHECK(fused.cost->hidden.base() < term(plain, Term::activation_exchange) / 2);
  CHECK(term(apart, Term::activation_exchange) - term(fused, Term::activation_exchange) ==
        approx(fused.cost->hidden.base()));
  // The same holds with sequence parallelism.
  const Projection sequences = of(t, {.sequence_parallel = true});
  t.framework.accumulation = Bytes{6};
  CHECK(of(t, {.sequence_parallel = true}).iteration() == sequences.iteration());
}

TEST_CASE(
    "ZeRO-3 tensor by tensor: gathered twice and scattered once through one port, overlapping with the "
    "layers") {
  Training t = without_overlap();
  const Plan sharded{.zero = 3};
  t.framework.gathers_by_tensor = true;
  // Two products of 1000 x 1000 weights on 8 GPUs, two nodes: one ring through one port, 7 steps of an
  // eighth; one step in four leaves a node.
  const std::string layers =
      "  - {name: a, op: fc, filters: 1000, bias: false}\n  - {name: b, op: fc, filters: 1000, bias: "
      "false}\n";
  Bench large(work_of(layers, "1000x1"), two_level_machine(), t, sharded);
  const Projection p = large.engine("data", "8", 8);
  const double each = 7 * ((out_alpha + 3 * in_alpha) / 4 + 4e6 / 8 * out_beta);
  const double forward = term(p, Term::forward), backward = term(p, Term::backward);
  CHECK(term(p, Term::gradient_exchange) ==
        approx(std::hypot(forward, 2 * each) - forward + std::hypot(backward, 4 * each) - backward));
  CHECK(p.cost->communication().base() == approx(6 * each));
  // Tensors below 100 000 items are not sharded.
  Bench small(chain(2), two_level_machine(), t, sharded);
  CHECK(small.engine("data", "8", 8).cost->communication().base() == 0);
}

TEST_CASE("the terms of a framework are read, listed and switched one by one") {
  const SourceText source{"f.yaml",
                          "name: f\noverlap: off\nconvolutions: no-winograd\nvocabulary-padding: always\n"
                          "costs: {tensor: 50 us, packing: 5 GB/s}\n"};
  const FrameworkSpec plain = read_framework(source);
  CHECK(plain.overlap == false);
  CHECK_FALSE(plain.convolutions->winograd);
  CHECK_FALSE(plain.precision.has_value());
  CHECK(plain.terms.padding == VocabularyPadding::always);
  const FrameworkSpec changed =
      read_framework(source, {{"overlap", "on"}, {"costs.host", "1 ms"}, {"hybrid-gradients", "leader"}});
  CHECK(changed.overlap == true);
  CHECK(changed.terms.host == Seconds{1e-3});
  CHECK(changed.terms.hybrid_gradients == GradientRoute::leader);
  CHECK(changed.terms.tensor == plain.terms.tensor);
  CHECK_THROWS_AS(read_framework(source, {{"overlap", "maybe"}}), UsageError);
  CHECK_THROWS_AS(read_framework(source, {{"costs.hots", "1 ms"}}), UsageError);
  CHECK_THROWS_AS(read_framework({"f.yaml", "name: f\nconvolutions: fastest\n"}), SpecError);
  CHECK_THROWS_AS(read_framework({"f.yaml", "name: f\nvocabulary-multiple: 1.5\n"}), SpecError);
  // Every effect is listed with its value and the ideal value.
  const auto listed = listed_terms(changed);
  const auto value = [&](const std::string& key) {
    for (const ListedTerm& term : listed)
      if (term.key == key) return term.value;
    return std::string("missing");
  };
  CHECK(value("overlap") == "on");
  CHECK(value("convolutions") == "no-winograd");
  CHECK(value("vocabulary-padding") == "always");
  CHECK(value("vocabulary-multiple") == "128");
  CHECK(value("costs.host") == "1.00 ms");
  CHECK(value("costs.packing") == "5.00 GB/s");
  for (const char* key : {"split", "costs.split-layer", "costs.tensor", "transport", "halos", "rings",
                          "hybrid-gradients", "reduction", "backward-of-allgather", "weight-gathers"})
    CHECK(value(key) != "missing");
}

}  // namespace paradl::test
