// The engine by hand: 2 convolutions of 8 channels on 16x16, 3x3, no bias: |x| = |y| = 2048 items, |w| = 576
// items. Machine: alpha 10 us, beta 0.1 ns/B. Batch 32, fp32: a whole activation is 32 * 2048 * 4 B = 262144
// B.
#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

double comm(const Projection& p, Term t) { return (*p.cost)[t].base(); }

constexpr double alpha = 10e-6, beta = 1e-10;

}  // namespace

TEST_CASE("data sums all gradients once") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // 2(p-1)(alpha + W/p beta) with W = 2 * 576 * 4 = 4608 B, p = 4
  CHECK(comm(bench.engine("data", "4", 32), Term::gradient_exchange) ==
        paradl::test::approx(6 * (alpha + 1152 * beta)));
  CHECK(bench.engine("data", "4", 32).cost->communication() ==
        bench.engine("data", "4", 32).cost->exposed_communication());
}

TEST_CASE("filter gathers y forward and sums dx backward, except for the last layer") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // allgather 3(alpha + m/4 beta) and allreduce 6(alpha + m/4 beta) of y_1 = 262144 B
  CHECK(comm(bench.engine("filter", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(9 * (alpha + 65536 * beta)));
  CHECK(comm(bench.engine("filter", "4", 32), Term::gradient_exchange) == 0);
}

TEST_CASE("filter with reduce-scatter backward moves two volumes instead of three") {
  Training t = without_overlap();
  t.reduction = Reduction::reduce_scatter;
  Bench bench(chain(2), flat_machine(), t);
  CHECK(comm(bench.engine("filter", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(6 * (alpha + 65536 * beta)));
}

TEST_CASE("channel sums every y forward, including the last one, and gathers dx backward") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // two allreduces of 6 steps, one allgather of 3
  CHECK(comm(bench.engine("channel", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(15 * (alpha + 65536 * beta)));
}

TEST_CASE("two axes that cut the same filters must leave at least one to each part") {
  // Both layers have 8 filters; tensor splits the filters of the first and the channels of the second.
  Bench bench(chain(2), flat_machine(), without_overlap());
  CHECK(bench.engine("filter+tensor", "4x2", 32).limits.hold());
  const Projection finer = bench.engine("filter+tensor", "4x4", 32);
  CHECK_FALSE(finer.cost);
  const Limit broken = finer.limits.all().back();
  CHECK(broken.rule == LimitRule::shared_filters);
  CHECK(broken.value == 16);
  CHECK(broken.bound == 8);
  CHECK(broken.layer == 0);
  // Filters on one axis and channels on the other do not split the same dimension.
  CHECK(bench.engine("filter+channel", "8x8", 32).limits.hold());
}

TEST_CASE("tensor needs one sum forward for a pair of products") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // conv0 filter -> slices -> conv1 channel: y_1 of the pair summed forward; the input needs no gradient
  CHECK(comm(bench.engine("tensor", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(6 * (alpha + 65536 * beta)));
  Bench four(chain(4), flat_machine(), without_overlap());
  // forward: y of conv1 and conv3; backward: dx of conv2 (filter), which is the gradient of conv1's output
  CHECK(comm(four.engine("tensor", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(18 * (alpha + 65536 * beta)));
}

TEST_CASE("spatial exchanges one row with each neighbour, of x forward and of dy backward") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // one row: 8 channels * 16 * 32 samples * 4 B = 16384 B; per layer: 2 neighbours forward, 2 backward
  CHECK(comm(bench.engine("spatial", "4", 32), Term::halo_exchange) ==
        paradl::test::approx(2 * 4 * (alpha + 16384 * beta)));
  SUBCASE("two parts have one neighbour each") {
    CHECK(comm(bench.engine("spatial", "2", 32), Term::halo_exchange) ==
          paradl::test::approx(2 * 2 * (alpha + 16384 * beta)));
  }
  SUBCASE("a 2x2 cut has two neighbours and rows of half the length") {
    CHECK(comm(bench.engine("spatial", "2x2", 32), Term::halo_exchange) ==
          paradl::test::approx(2 * 2 * 2 * (alpha + 8192 * beta)));
  }
  SUBCASE("its gradients are summed like those of data") {
    CHECK(comm(bench.engine("spatial", "4", 32), Term::gradient_exchange) ==
          paradl::test::approx(6 * (alpha + 1152 * beta)));
  }
}

TEST_CASE("pooling that tiles its input needs no halo, a strided convolution half of one") {
  const Workload pooled = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 1, bias: false}\n  - {name: p, op: max-pool, kernel: "
      "2}\n");
  Bench tiles(pooled, flat_machine(), without_overlap());
  CHECK(comm(tiles.engine("spatial", "4", 32), Term::halo_exchange) == 0);
  // K = 3, stride 2, padding 1: one row before, none after; dy: one row after
  Bench strided(
      work_of("  - {name: a, op: conv, filters: 8, kernel: 3, stride: 2, padding: 1, bias: false}\n"),
      flat_machine(), without_overlap());
  CHECK(comm(strided.engine("spatial", "4", 32), Term::halo_exchange) ==
        paradl::test::approx((alpha + 16384 * beta) + (alpha + 8192 * beta)));
}

TEST_CASE("under spatial a fully connected layer runs whole, after one allgather") {
  const Workload work = work_of(
      "  - {name: conv, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: flat, op: "
      "flatten}\n"
      "  - {name: fc, op: fc, filters: 10, bias: false}\n");
  Bench bench(work, flat_machine(), without_overlap());
  const Projection p = bench.engine("spatial", "4", 32);
  CHECK(comm(p, Term::activation_exchange) == paradl::test::approx(3 * (alpha + 65536 * beta)));
  const Layout& layout = *bench.evaluator->evaluate(p.plan).layout;
  CHECK(layout.role[0][2] == Role::whole);
  // and its weights are not summed over the parts, which all have the same gradient: 576 items instead of 576
  // + 20480
  CHECK(comm(p, Term::gradient_exchange) == paradl::test::approx(6 * (alpha + 576 * beta)));
}

TEST_CASE("layers that work channel by channel need no exchange of split channels") {
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: n, op: "
      "batch-norm}\n  - {name: r, op: relu}\n"
      "  - {name: p, op: max-pool, kernel: 2}\n  - {name: b, op: conv, filters: 8, kernel: 3, padding: 1, "
      "bias: false}\n");
  Bench bench(work, flat_machine(), without_overlap());
  // Only the pooled tensor is exchanged: a quarter of 262144 B
  CHECK(comm(bench.engine("filter", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(9 * (alpha + 16384 * beta)));
  // and four GPUs share the arithmetic of every layer
  const auto serial = bench.engine("serial", "", 32), split = bench.engine("filter", "4", 32);
  CHECK(comm(split, Term::forward) == paradl::test::approx(comm(serial, Term::forward) / 4));
}

TEST_CASE("a tensor that two layers read is gathered once") {
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 1, bias: false}\n  - {name: b, op: conv, filters: 8, "
      "kernel: 1, bias: false}\n"
      "  - {name: c, op: conv, from: a, filters: 8, kernel: 1, bias: false}\n  - {name: s, op: add, from: "
      "[b, c]}\n");
  Bench bench(work, flat_machine(), without_overlap());
  CHECK(comm(bench.engine("filter", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(9 * (alpha + 65536 * beta)));
}

TEST_CASE("a GPU updates only the weights that it holds") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  const double whole = comm(bench.engine("data", "4", 32), Term::update);
  CHECK(whole > 0);
  CHECK(comm(bench.engine("filter", "4", 32), Term::update) == paradl::test::approx(whole / 4));
  CHECK(comm(bench.engine("data+filter", "2x4", 32), Term::update) == paradl::test::approx(whole / 4));
}

TEST_CASE("synchronised batch norm sums two numbers a channel, forward and backward") {
  Training t = without_overlap();
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 1, bias: false}\n  - {name: n, op: batch-norm, affine: "
      "false}\n");
  Bench local(work, flat_machine(), t);
  CHECK(comm(local.engine("data", "4", 32), Term::activation_exchange) == 0);
  t.synchronised_batch_norm = true;
  Bench sync(work, flat_machine(), t);
  CHECK(comm(sync.engine("data", "4", 32), Term::activation_exchange) ==
        paradl::test::approx(2 * 6 * (alpha + 16 * beta)));
}

TEST_CASE("statistics of many nodes are summed by trees, because libraries do so for a few bytes") {
  Training t = without_overlap();
  t.synchronised_batch_norm = true;
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 1, bias: false}\n  - {name: n, op: batch-norm, affine: "
      "false}\n");
  const auto statistics = [&](const Training& training, const char* grid, const Plan& options = {}) {
    Bench bench(work, two_level_machine(), training, options);
    return comm(bench.engine("data", grid, 1024), Term::activation_exchange);
  };
  // 64 B: a ring of 4 in the node, then trees of 256 nodes with 16 B each; phi = 2.
  const double in_node = 2 * 3 * (10e-6 + 16 * 1e-10), beyond = 2 * 8 * (40e-6 + 16 * 2 * 8e-11);
  CHECK(statistics(t, "1024") == paradl::test::approx(2 * (in_node + beyond)));
  // Two nodes: a ring and a tree have as many steps, and a ring sends less.
  CHECK(statistics(t, "8") == paradl::test::approx(2 * (in_node + 2 * (40e-6 + 8 * 2 * 8e-11))));
  t.framework.flat_rings = true;
  CHECK(statistics(t, "1024") == paradl::test::approx(2 * 2 * 1023 * (40e-6 + 64 / 1024.0 * 8e-11 * 0.5)));
  t.framework.flat_rings = false;
  // The requested algorithm also sums statistics.
  CHECK(statistics(t, "1024", {.allreduce = {find_algorithm("auto")}}) < 2e-3);
}

TEST_CASE("memory of data, part by part") {
  Training t = without_overlap();
  Bench bench(chain(2), flat_machine(), t);
  const Memory m = bench.engine("data", "4", 32).cost->memory;
  CHECK(m.weights.base() == 2 * 576 * 4);
  CHECK(m.gradients == m.weights);
  CHECK(m.optimizer == m.weights);  // momentum: one slot
  // both inputs are kept: 8 samples * 2048 items * 4 B each
  CHECK(m.activations.base() == 2 * 8 * 2048 * 4);
  t.optimizer = Optimizer::adam;
  CHECK(Bench(chain(2), flat_machine(), t).engine("data", "4", 32).cost->memory.optimizer == 2 * m.optimizer);
  t.precision = Precision::fp16;
  const Memory half = Bench(chain(2), flat_machine(), t).engine("data", "4", 32).cost->memory;
  // 2 weight + 4 gradient + 4 master + 8 Adam = 18 bytes a weight
  CHECK((half.weights + half.gradients + half.optimizer).base() == 18 * 2 * 576);
  CHECK(half.activations == m.activations / 2);
}

TEST_CASE("any strategy on one GPU costs as much as serial") {
  Bench bench(chain(3), flat_machine(), without_overlap());
  const Projection serial = bench.engine("serial", "", 32);
  for (const Strategy* axis : strategies()) {
    CAPTURE(axis->name);
    const Projection one = bench.engine(std::string(axis->name), "1", 32);
    REQUIRE(one.cost);
    CHECK(one.cost->communication() == Seconds{});
    CHECK(one.iteration().base() == paradl::test::approx(serial.iteration().base()));
    CHECK(one.efficiency() == paradl::test::approx(1));
  }
}

TEST_CASE("a hybrid with one GPU on all axes but one costs as much as that axis alone") {
  for (const Training& t : {without_overlap(), Training{}}) {
    Bench bench(chain(6), two_level_machine(), t);
    for (const Strategy* a : strategies())
      for (const Strategy* b : strategies()) {
        if (a == b || !a->usual || !b->usual) continue;  // other strategies need sequences or experts
        CAPTURE(a->name);
        CAPTURE(b->name);
        const std::string hybrid = std::string(a->name) + "+" + std::string(b->name);
        const Projection alone = bench.engine(std::string(b->name), "4", 32),
                         inner = bench.engine(hybrid, "1x4", 32),
                         outer = bench.engine(std::string(b->name) + "+" + std::string(a->name), "4x1", 32);
        REQUIRE((alone.cost && inner.cost && outer.cost));
        for (std::size_t term = 0; term < terms; ++term) {
          CHECK(inner.cost->exposed[term].base() == paradl::test::approx(alone.cost->exposed[term].base()));
          CHECK(outer.cost->exposed[term].base() == paradl::test::approx(alone.cost->exposed[term].base()));
        }
        CHECK(inner.cost->memory.total().base() == paradl::test::approx(alone.cost->memory.total().base()));
      }
  }
}

TEST_CASE("three axes are priced by the same code") {
  Bench bench(chain(4, 16, "16x16x16"), two_level_machine(), without_overlap());
  const Projection three = bench.engine("data+spatial+filter", "2x2x4", 32),
                   two = bench.engine("data+filter", "2x4", 32);
  REQUIRE(three.cost);
  CHECK(three.gpus == 16);
  CHECK(comm(three, Term::halo_exchange) > 0);
  CHECK(comm(three, Term::forward) == paradl::test::approx(comm(two, Term::forward) / 2));
  // each group of four gathers only its half of the rows
  CHECK(comm(three, Term::activation_exchange) < comm(two, Term::activation_exchange));
  const Projection pipe = bench.engine("data+layer+tensor", "2x2x4", 32);
  REQUIRE(pipe.cost);
  CHECK(comm(pipe, Term::stage_transfer) > 0);
  CHECK(comm(pipe, Term::activation_exchange) > 0);
  CHECK(comm(pipe, Term::gradient_exchange) > 0);
}

TEST_CASE("computation never grows with the number of GPUs") {
  Bench bench(chain(6, 64, "64x32x32"), flat_machine(), without_overlap());
  for (const char* strategy : {"data", "spatial", "filter", "channel", "tensor"})
    for (int p = 1; p < 32; p *= 2) {
      CAPTURE(strategy);
      CAPTURE(p);
      CHECK(bench.engine(strategy, std::to_string(2 * p), 64).cost->compute() <=
            bench.engine(strategy, std::to_string(p), 64).cost->compute());
    }
}

TEST_CASE("an axis of one GPU changes neither time nor memory, whatever a layer keeps") {
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1}\n  - {name: n, op: batch-norm}\n  - {name: "
      "r, op: relu}\n"
      "  - {name: b, op: conv, filters: 8, kernel: 3, padding: 1}\n  - {name: s, op: relu}\n  - {name: f, "
      "op: flatten}\n"
      "  - {name: c, op: fc, filters: 16}\n");
  Bench bench(work, two_level_machine());
  const Projection alone = bench.engine("data", "4", 32);
  for (const char* other : {"filter", "channel", "spatial", "tensor", "layer"}) {
    CAPTURE(other);
    const Projection one = bench.engine("data+" + std::string(other), "4x1", 32);
    CHECK(one.iteration().base() == paradl::test::approx(alone.iteration().base()));
    CHECK(one.cost->memory.total().base() == paradl::test::approx(alone.cost->memory.total().base()));
  }
}

TEST_CASE("a tensor behind a view is kept once") {
  // relu keeps y (2048 items), which fc also uses: 32 samples * 2048 * 4 B, and the input of conv
  const Workload work = work_of(
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1}\n  - {name: r, op: relu}\n  - {name: f, "
      "op: flatten}\n"
      "  - {name: c, op: fc, filters: 16}\n");
  Bench bench(work, flat_machine(), without_overlap());
  CHECK(bench.engine("serial", "", 32).cost->memory.activations.base() == 2 * 32 * 2048 * 4);
}

TEST_CASE("a stage keeps the tensors that its backward pass needs") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  CHECK(bench.engine("layer", "2", 32).cost->memory.activations.base() == 32 * 2048 * 4);
}

TEST_CASE("backward halos are rows of the split dy") {
  Bench bench(chain(1), flat_machine(), without_overlap());
  // forward, filter needs all of x: 16384 B a row; backward, a GPU has a quarter of dy
  const double filter = comm(bench.engine("spatial+filter", "4x4", 32), Term::halo_exchange);
  CHECK(filter == paradl::test::approx(2 * (alpha + 16384 * beta) + 2 * (alpha + 4096 * beta)));
  const double channel = comm(bench.engine("spatial+channel", "4x4", 32), Term::halo_exchange);
  CHECK(channel == paradl::test::approx(2 * (alpha + 4096 * beta) + 2 * (alpha + 16384 * beta)));
}

TEST_CASE("filter and channel together: tensors are split before they are summed") {
  Bench bench(chain(2), flat_machine(), without_overlap());
  // Forward, y_0 is split in halves on the axis filter and partial on the axis channel. Halves are summed
  // (131072 B). conv1 then needs all filters, but only its half of the channels, which each GPU takes from
  // the sum for free: filter also gathers 131072 B. y_1 is summed in halves. Backward has the same sizes.
  const Projection p = bench.engine("filter+channel", "2x2", 32);
  const double half = 131072;
  const double forward = 2 * (2 * (alpha + half / 2 * beta)) + (alpha + half / 2 * beta);
  const double backward = 2 * (alpha + half / 2 * beta) + (alpha + half / 2 * beta);
  CHECK(comm(p, Term::activation_exchange) == paradl::test::approx(forward + backward));
}

TEST_CASE("serial has an efficiency of 1, also with rounded iterations, and rates are those of the epoch") {
  Training t = without_overlap();
  t.ceil_iterations = true;
  Bench bench(chain(3), flat_machine(), t);
  const Projection p = bench.engine("serial", "", 600);  // D = 1000
  CHECK(p.efficiency() == paradl::test::approx(1));
  CHECK(p.samples_per_s() == paradl::test::approx(1000 / p.epoch().base()));
  CHECK(bench.paper("serial", "", 600).efficiency() == paradl::test::approx(1));
}

TEST_CASE("overlap hides communication and never costs time") {
  for (const char* grid : {"16", "64"}) {
    Training on, off;
    off.overlap = false;
    Bench with(chain(8, 512, "512x16x16"), two_level_machine(), on),
        without(chain(8, 512, "512x16x16"), two_level_machine(), off);
    const Projection a = with.engine("data", grid, 1024), b = without.engine("data", grid, 1024);
    CHECK(a.iteration() <= b.iteration());
    CHECK(a.cost->hidden > Seconds{});
    CHECK(a.cost->communication().base() == paradl::test::approx(b.cost->communication().base()));
    const Projection c = with.engine("data+layer", std::string(grid) + "x2", 1024),
                     d = without.engine("data+layer", std::string(grid) + "x2", 1024);
    CHECK(c.iteration() <= d.iteration());
  }
}
