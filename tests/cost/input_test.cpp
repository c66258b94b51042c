// Input by hand: nodes of four GPUs with two ports of 12.5 GB/s (40 us), 10 GB/s (10 us) inside. A data set
// of 1000 samples of 1 MB; decoded for the network, a sample is 2048 items of 4 bytes.
#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

namespace paradl::test {
namespace {

constexpr double in_alpha = 10e-6, in_beta = 1e-10, out_alpha = 40e-6, out_beta = 0.8e-10;
constexpr double MB = 1e6, x0 = 2048 * 4;

Machine with_storage() {
  Machine machine = two_level_machine();
  machine.node_storage = StorageSpec{Bytes{1e12}, Bandwidth{2e9}};
  machine.shared_storage = StorageSpec{Bytes{1e15}, Bandwidth{1e9}};
  return machine;
}

Workload with_samples() {
  Workload work = chain(2);
  work.sample = Bytes{MB};
  return work;
}

Training reading(InputFrom from, Readers readers = Readers::leader) {
  Training t = without_overlap();
  t.input = {.from = from, .readers = readers, .prefetch = false};
  return t;
}

Training shuffled(Shuffle shuffle) {
  Training t = reading(InputFrom::node);
  t.input.shuffle = shuffle;
  return t;
}

InputCost input_of(const Training& t, const std::string& strategy, const std::string& grid, double batch = 32,
                   const Machine& machine = with_storage()) {
  const Projection p = Bench(with_samples(), machine, t).engine(strategy, grid, batch);
  REQUIRE(p.input);
  return *p.input;
}

}  // namespace

TEST_CASE("input is only counted on request; then the iteration is longer by its exposed time") {
  const Projection plain = Bench(with_samples(), with_storage(), without_overlap()).engine("data", "8", 32);
  CHECK_FALSE(plain.input);
  const Projection read =
      Bench(with_samples(), with_storage(), reading(InputFrom::node)).engine("data", "8", 32);
  CHECK(read.iteration().base() == approx(plain.iteration().base() + 8e-3));
  CHECK((*read.cost)[Term::io].base() == approx(8e-3));
  CHECK(read.cost->communication() == plain.cost->communication());
}

TEST_CASE("readers of a node share its storage and its ports, and all readers share the file system") {
  // 8 GPUs on two nodes read 4 samples each: 4 x 4 MB a node at 2 GB/s.
  const InputCost node = input_of(reading(InputFrom::node), "data", "8");
  CHECK(node.readers == 8);
  CHECK(node.at_once == 4);
  CHECK(node.read.base() == approx(4 * MB));
  CHECK(node.reading.base() == approx(4 * 4 * MB / 2e9));
  CHECK(node.bound == ReadBound::storage);
  // All eight share 1 GB/s.
  CHECK(input_of(reading(InputFrom::shared), "data", "8").reading.base() == approx(8 * 4 * MB / 1e9));
  // A very fast file system is limited by the two ports of a node.
  Machine fast = with_storage();
  fast.shared_storage->read = Bandwidth{1e15};
  const InputCost ports = input_of(reading(InputFrom::shared), "data", "8", 32, fast);
  CHECK(ports.reading.base() == approx(4 * 4 * MB / (2 * 12.5e9)));
  CHECK(ports.bound == ReadBound::ports);
  // A reading process may be slower than all of these.
  Training slow = reading(InputFrom::node);
  slow.framework.reader = Bandwidth{100e6};
  CHECK(input_of(slow, "data", "8").reading.base() == approx(4 * MB / 100e6));
  CHECK(input_of(slow, "data", "8").bound == ReadBound::reader);
}

TEST_CASE("a leader reads for its group: samples are scattered for spatial and broadcast for filter") {
  const Training t = reading(InputFrom::node);
  const double m = 16 * x0;  // a worker has half the mini-batch
  const InputCost filter = input_of(t, "data+filter", "2x4");
  CHECK(filter.workers == 2);
  CHECK(filter.readers == 2);
  CHECK(filter.reading.base() == approx(16 * MB / 2e9));
  CHECK(filter.staging.base() == approx(2 * (in_alpha + m * in_beta)));  // a tree of two steps
  const InputCost spatial = input_of(t, "data+spatial", "2x4");
  CHECK(spatial.staged.base() == approx(m));
  CHECK(spatial.staging.base() == approx(3 * (in_alpha + m / 4 * in_beta)));
  // Over several nodes: first between them, then inside.
  CHECK(input_of(t, "filter", "8").staging.base() ==
        approx((out_alpha + 2 * m * out_beta) + 2 * (in_alpha + 2 * m * in_beta)));
  CHECK(input_of(t, "spatial", "16").staging.base() ==
        approx(3 * (out_alpha + 2 * m / 4 * out_beta) + 3 * (in_alpha + 2 * m / 16 * in_beta)));
  // Both axes: each of two parts goes to two GPUs.
  CHECK(input_of(t, "spatial+filter", "2x2").staging.base() ==
        approx((in_alpha + m * in_beta) + (in_alpha + m * in_beta)));
  // The four leaders of a node share its two ports.
  CHECK(input_of(t, "filter+data", "2x4").staging.base() == approx(out_alpha + 8 * x0 * 2 * out_beta));
  // Only the first stage of a pipeline needs samples.
  CHECK(input_of(t, "layer", "2").staging.base() == 0);
  CHECK(input_of(t, "layer", "2").readers == 1);
}

TEST_CASE("without leaders every GPU reads its own samples, and replicated samples are read several times") {
  const Training t = reading(InputFrom::node, Readers::each);
  const InputCost filter = input_of(t, "filter", "4");
  CHECK(filter.readers == 4);
  CHECK(filter.staging.base() == 0);
  CHECK(filter.reading.base() == approx(4 * 32 * MB / 2e9));
  // Under spatial each GPU reads its part: together as much as a leader.
  const InputCost spatial = input_of(t, "spatial", "4");
  CHECK(spatial.read.base() == approx(8 * MB));
  CHECK(spatial.reading == input_of(reading(InputFrom::node), "spatial", "4").reading);
}

TEST_CASE("staging through the host runs at the measured rates of the host") {
  Machine machine = with_storage();
  machine.host = HostSpec{
      .memory = {}, .bandwidth = {}, .staged = StagedSpec{Seconds{100e-6}, Bandwidth{1e9}, Bandwidth{2e9}}};
  Training t = reading(InputFrom::node);
  t.framework.staging = Transport::host;
  const double m = 32 * x0;
  CHECK(input_of(t, "filter", "8", 32, machine).staging.base() ==
        approx((100e-6 + m / 1e9) + 2 * (in_alpha + m / 2e9)));
  // Parts for spatial are messages within a node, like halos.
  CHECK(input_of(t, "spatial", "4", 32, machine).staging.base() == approx(3 * (100e-6 + m / 4 / 1e9)));
}

TEST_CASE("shuffling: stored and exchanged bytes follow the formulas") {
  // N = 1000 samples of 1 MB, M = 8 workers, four on a node.
  const InputCost global = input_of(shuffled({}), "data", "8");
  CHECK(global.kept_by_worker.base() == approx(1000 * MB));
  CHECK(global.kept_by_node.base() == approx(1000 * MB));
  CHECK(global.exchanged.base() == 0);
  const InputCost local = input_of(shuffled({.global = false}), "data", "8");
  CHECK(local.kept_by_worker.base() == approx(125 * MB));
  CHECK(local.kept_by_node.base() == approx(500 * MB));
  CHECK(local.exchanged.base() == 0);
  CHECK(local.exchange.base() == 0);
  const InputCost half = input_of(shuffled({.global = false, .Q = 0.5}), "data", "8");
  CHECK(half.kept_by_worker.base() == approx(187.5 * MB));
  CHECK(half.kept_by_node.base() == approx(750 * MB));
  CHECK(half.exchanged.base() == approx(62.5 * MB));
  // All-to-all over 8 workers; four of a node share two ports: phi = 2. An epoch has 1000/32 iterations.
  const double epoch = 7 * out_alpha + 62.5 * MB * 7 / 8 * 2 * out_beta;
  CHECK(half.exchange.base() == approx(epoch / (1000.0 / 32)));
  // Exchanging everything: as much is sent as kept, with room for both.
  const InputCost all = input_of(shuffled({.global = false, .Q = 1}), "data", "8");
  CHECK(all.kept_by_worker.base() == approx(250 * MB));
  CHECK(all.exchanged.base() == approx(125 * MB));
}

TEST_CASE("law: storage grows from N/M with the exchanged share") {
  double before = 0;
  for (const double Q : {0.0, 0.01, 0.1, 0.5, 0.9, 1.0})
    for (const auto& [strategy, grid] :
         {std::pair{"data", "16"}, {"data+filter", "4x4"}, {"data+spatial", "4x2"}}) {
      CAPTURE(strategy);
      const InputCost input = input_of(shuffled({.global = false, .Q = Q}), strategy, grid);
      CHECK(input.kept_by_worker.base() == approx((1 + Q) * 1000 * MB / input.workers));
      CHECK(input.exchanged.base() == approx(Q * 1000 * MB / input.workers));
      CHECK(input.kept_by_node >= input.kept_by_worker);
      if (grid == std::string("16")) {
        CHECK(input.exchange.base() >= before);
        before = input.exchange.base();
      }
    }
}

TEST_CASE("law: exchanging nothing is local shuffling") {
  const InputCost local = input_of(shuffled({.global = false}), "data", "8");
  const InputCost none = input_of(shuffled({.global = false, .Q = 0}), "data", "8");
  CHECK(none.total() == local.total());
  CHECK(none.kept_by_node == local.kept_by_node);
  CHECK(shuffle_text({.global = false, .Q = 0}) == "local");
  CHECK(shuffle_text({.global = false, .Q = 0.25}) == "partial:0.25");
}

TEST_CASE("law: hidden input costs nothing, and the rest is exposed") {
  // GPUs of 1 Gflop/s compute long enough to hide reads at 1 PB/s and the exchange of all samples, but not
  // reads at 1 MB/s.
  Training t = shuffled({.global = false, .Q = 1});
  t.input.prefetch = true;
  Machine fast = with_storage(), slow = with_storage();
  fast.node_storage->read = Bandwidth{1e15};
  slow.node_storage->read = Bandwidth{1e6};
  for (Machine* machine : {&fast, &slow}) machine->device.peak.fill(FlopRate{1e9});
  const auto iteration = [&](const Machine& machine, const Training& training) {
    return Bench(with_samples(), machine, training).engine("data", "8", 512 * 8).iteration().base();
  };
  const double plain = iteration(fast, without_overlap());
  const InputCost hidden = input_of(t, "data", "8", 512 * 8, fast);
  CHECK(hidden.exchange.base() > 0);
  CHECK(hidden.exposed().base() == 0);
  CHECK(iteration(fast, t) == approx(plain));
  const InputCost seen = input_of(t, "data", "8", 512 * 8, slow);
  CHECK(seen.exposed().base() == approx(seen.total().base() - plain));
  CHECK(iteration(slow, t) == approx(seen.total().base()));
  t.input.prefetch = false;
  CHECK(iteration(slow, t) == approx(plain + seen.total().base()));
}

TEST_CASE("law: more readers of the same mini-batch are never slower") {
  for (const InputFrom from : {InputFrom::node, InputFrom::shared}) {
    double before = 1e9;
    for (const char* gpus : {"1", "2", "4", "8", "16", "32", "64"}) {
      CAPTURE(gpus);
      Training t = reading(from);
      t.framework.reader = Bandwidth{500e6};
      const double now = input_of(t, "data", gpus, 64).reading.base();
      CHECK(now <= before * (1 + 1e-12));
      before = now;
    }
  }
}

TEST_CASE("a data set that is too large for node storage breaks a limit") {
  Machine small = with_storage();
  small.node_storage->capacity = Bytes{600 * MB};
  const auto holds = [&](Shuffle shuffle, const char* gpus) {
    const Projection p = Bench(with_samples(), small, shuffled(shuffle)).engine("data", gpus, 32);
    CHECK(p.cost);  // the time is known nevertheless
    return p.feasible();
  };
  CHECK_FALSE(holds({}, "8"));                           // 1000 MB on each node
  CHECK(holds({.global = false}, "8"));                  // 500 MB
  CHECK_FALSE(holds({.global = false, .Q = 0.5}, "8"));  // 750 MB
  CHECK(holds({.global = false, .Q = 0.5}, "16"));       // 375 MB
  CHECK(nodes_to_hold(with_samples(), *small.node_storage, 0) == 2);
  CHECK(nodes_to_hold(with_samples(), *small.node_storage, 0.5) == 3);
  // Shared storage is large enough, whatever a node has.
  CHECK(Bench(with_samples(), small, reading(InputFrom::shared)).engine("data", "8", 32).feasible());
}

TEST_CASE("unknown rates are not guessed") {
  const auto cost = [](const Machine& machine, const Workload& work, const Training& t) {
    const Projection p = Bench(work, machine, t).engine("data", "8", 32);
    CHECK((*p.cost)[Term::io].base() == 0);
    return *p.input;
  };
  Machine none = two_level_machine(), rateless = with_storage();
  rateless.node_storage->read.reset();
  CHECK(cost(none, with_samples(), reading(InputFrom::node)).lacks == InputLacks::storage);
  CHECK(cost(none, with_samples(), reading(InputFrom::shared)).lacks == InputLacks::storage);
  CHECK(cost(rateless, with_samples(), reading(InputFrom::node)).lacks == InputLacks::read_rate);
  const InputCost unsized = cost(with_storage(), chain(2), reading(InputFrom::node));
  CHECK(unsized.lacks == InputLacks::sample_size);
  CHECK_FALSE(unsized.known);
  // Bytes are known, although no rate is.
  CHECK(cost(rateless, with_samples(), reading(InputFrom::node)).kept_by_node.base() == approx(1000 * MB));
  // The rate of a reading process is known, which gives a lower bound.
  Training slow = reading(InputFrom::node);
  slow.framework.reader = Bandwidth{100e6};
  const InputCost bounded = input_of(slow, "data", "8", 32, rateless);
  CHECK(bounded.known);
  CHECK(bounded.lacks == InputLacks::read_rate);
  CHECK(bounded.reading.base() == approx(4 * MB / 100e6));
}

}  // namespace paradl::test
