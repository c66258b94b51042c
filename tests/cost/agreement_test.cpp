// The engine agrees with the paper's closed forms if the paper's assumptions hold: convolutions of stride 1
// that keep their shape, one level of links, no overlap. Where the two differ on purpose, the test checks the
// difference.
#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Training plain() {
  Training t = without_overlap();
  t.gamma = 1;                              // both count the values and gradients of x, y and w
  t.stage_cut = StageCut::balanced_layers;  // both cut only by the times of layers
  return t;
}

void check_time(const Projection& engine, const Projection& paper, std::initializer_list<Term> list) {
  REQUIRE((engine.cost && paper.cost));
  for (const Term t : list) {
    CAPTURE(term_names[std::size_t(t)].title);
    CHECK((*engine.cost)[t].base() == paradl::test::approx((*paper.cost)[t].base()).epsilon(1e-12));
  }
}

constexpr auto all = {Term::forward,
                      Term::backward,
                      Term::update,
                      Term::gradient_exchange,
                      Term::activation_exchange,
                      Term::halo_exchange,
                      Term::stage_transfer};

double memory(const Projection& p) { return p.cost->memory.total().base() - p.cost->memory.optimizer.base(); }

constexpr double alpha = 10e-6, beta = 1e-10;

}  // namespace

TEST_CASE("serial and data: engine and closed form agree") {
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    Training t = plain();
    t.precision = precision;
    Bench bench(chain(5), flat_machine(), t);
    check_time(bench.engine("serial", "", 64), bench.paper("serial", "", 64), all);
    for (const char* p : {"1", "2", "3", "8", "64"}) {
      CAPTURE(p);
      const auto engine = bench.engine("data", p, 64), paper = bench.paper("data", p, 64);
      check_time(engine, paper, all);
      CHECK(memory(engine) == paradl::test::approx(memory(paper)));
    }
  }
}

TEST_CASE("spatial: agrees for three or more parts; with two parts half the halo, with one none") {
  Bench bench(chain(5), flat_machine(), plain());
  for (const char* p : {"3", "4", "8", "16"}) {
    CAPTURE(p);
    const auto engine = bench.engine("spatial", p, 64), paper = bench.paper("spatial", p, 64);
    check_time(engine, paper, all);
    CHECK(memory(engine) == paradl::test::approx(memory(paper)));
  }
  CHECK((*bench.engine("spatial", "2", 64).cost)[Term::halo_exchange].base() ==
        paradl::test::approx((*bench.paper("spatial", "2", 64).cost)[Term::halo_exchange].base() / 2));
  CHECK((*bench.engine("spatial", "1", 64).cost)[Term::halo_exchange] == Seconds{});
  CHECK((*bench.paper("spatial", "1", 64).cost)[Term::halo_exchange] == Seconds{});
}

TEST_CASE("spatial in 2-D and 3-D: agrees if every cut extent has three parts or more") {
  Bench plane(chain(3), flat_machine(), plain());
  check_time(plane.engine("spatial", "3x4", 64), plane.paper("spatial", "3x4", 64), all);
  Bench volume(chain(3, 4, "4x16x16x16"), flat_machine(), plain());
  check_time(volume.engine("spatial", "4x3x4", 8), volume.paper("spatial", "4x3x4", 8), all);
}

TEST_CASE("layer: agrees for equal stages, with and without micro-batches") {
  for (const int S : {1, 2, 4, 8}) {
    Bench bench(chain(12), flat_machine(), plain(), {.micro_batches = S});
    for (const char* p : {"1", "2", "3", "4", "6", "12"}) {
      CAPTURE(S);
      CAPTURE(p);
      const auto engine = bench.engine("layer", p, 64), paper = bench.paper("layer", p, 64);
      REQUIRE((engine.cost && paper.cost));
      // The engine reports idle time as `bubble`; the closed form includes it in forward and backward.
      CHECK(engine.cost->compute().base() ==
            paradl::test::approx(paper.cost->compute().base()).epsilon(S == 1 ? 1e-12 : 1e-9));
      check_time(engine, paper, {Term::stage_transfer, Term::gradient_exchange});
      // One stage finishes each micro-batch before the next; the closed form keeps all of them even then.
      if (engine.gpus > 1 || S == 1) CHECK(memory(engine) == paradl::test::approx(memory(paper)));
    }
  }
}

TEST_CASE("filter: agrees if the last output may stay split") {
  Bench bench(chain(5), flat_machine(), plain());
  for (const char* p : {"1", "2", "4", "8"}) {
    CAPTURE(p);
    const auto engine = bench.engine("filter", p, 64), paper = bench.paper("filter", p, 64);
    check_time(engine, paper, all);
    // The closed form keeps all of y_G; the engine leaves it split.
    const double last = 2 * 64 * 2048 * 4.0;
    CHECK(memory(paper) - memory(engine) == paradl::test::approx(last * (1 - 1 / std::stod(p))));
  }
}

TEST_CASE("filter: a loss that needs all channels costs one more allgather") {
  const std::string layers =
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: b, op: conv, "
      "filters: 8, kernel: 3, padding: 1, bias: false}\n";
  Bench slices(work_of(layers + "  - {name: loss, op: loss}\n"), flat_machine(), plain());
  Bench whole(work_of(layers + "  - {name: loss, op: loss, whole: true}\n"), flat_machine(), plain());
  const double extra = ((*whole.engine("filter", "4", 64).cost)[Term::activation_exchange] -
                        (*slices.engine("filter", "4", 64).cost)[Term::activation_exchange])
                           .base();
  CHECK(extra == paradl::test::approx(3 * (alpha + 64 * 2048 * 4 / 4 * beta)));
}

TEST_CASE("channel: the engine also sums the last layer's output") {
  Bench bench(chain(5), flat_machine(), plain());
  for (const int p : {1, 2, 4, 8}) {
    CAPTURE(p);
    const auto engine = bench.engine("channel", std::to_string(p), 64),
               paper = bench.paper("channel", std::to_string(p), 64);
    check_time(engine, paper, {Term::forward, Term::backward, Term::update, Term::gradient_exchange});
    const double difference =
        ((*engine.cost)[Term::activation_exchange] - (*paper.cost)[Term::activation_exchange]).base();
    CHECK(difference == paradl::test::approx(2 * (p - 1) * (alpha + 64 * 2048 * 4.0 / p * beta)));
    CHECK(memory(engine) == paradl::test::approx(memory(paper)));  // after the sum every GPU has all of y
  }
}

TEST_CASE("data+filter and data+spatial: agree on one level") {
  Bench bench(chain(5), flat_machine(), plain());
  for (const char* grid : {"1x4", "4x1", "2x4", "8x2", "16x8"}) {
    CAPTURE(grid);
    check_time(bench.engine("data+filter", grid, 64), bench.paper("data+filter", grid, 64), all);
  }
  for (const char* grid : {"1x4", "2x4", "8x3", "16x8"}) {
    CAPTURE(grid);
    check_time(bench.engine("data+spatial", grid, 64), bench.paper("data+spatial", grid, 64), all);
  }
}

TEST_CASE("rounded iterations: ceil(D/B) exchanges and updates, but computation of D/p samples") {
  Training t = plain();
  t.ceil_iterations = true;
  Bench up(chain(3), flat_machine(), t);
  Bench exact(chain(3), flat_machine(), plain());
  // D = 1000, B = 64: 15.625 iterations
  const auto a = up.engine("data", "4", 64), b = exact.engine("data", "4", 64);
  CHECK(a.iterations == 16);
  CHECK((a.iterations * a.cost->communication()).base() ==
        paradl::test::approx((16 * b.cost->communication()).base()));
  CHECK((a.iterations * (*a.cost)[Term::forward]).base() ==
        paradl::test::approx((b.iterations * (*b.cost)[Term::forward]).base()));
  check_time(a, up.paper("data", "4", 64), all);
}

TEST_CASE("spatial with a `split` list: later layers run whole, in the closed form too") {
  const std::string layers =
      "  - {name: a, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: r, op: relu}\n"
      "  - {name: b, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n  - {name: s, op: relu}\n";
  Bench bench(work_of(layers, "8x16x16", "split: {spatial: [a]}"), flat_machine(), plain());
  const auto paper = bench.paper("spatial", "4", 64);
  // y of the first relu is gathered, its gradient scattered back: 2 * 3 (alpha + m/4 beta) with
  // m = 64 * 2048 * 4 B
  CHECK((*paper.cost)[Term::activation_exchange].base() == paradl::test::approx(6 * (alpha + 131072 * beta)));
  const auto engine = bench.engine("spatial", "4", 64);
  check_time(engine, paper, {Term::forward, Term::backward, Term::halo_exchange});
  // every GPU has the whole gradient, so the engine takes its part for free
  CHECK((*engine.cost)[Term::activation_exchange].base() ==
        paradl::test::approx(3 * (alpha + 131072 * beta)));
}
