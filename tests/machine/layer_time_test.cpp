#include "paradl/machine/layer_time.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

// Round numbers, so that every expectation can be checked with a pencil: 1 Tflop/s, 1 GB/s.
Machine pencil() {
  return machine_of(
      "name: pencil\n"
      "device: {name: slate, memory: 1 GiB, memory-bandwidth: 1 GB/s, peak: {fp32: 1 Tflop/s, fp16: 4 "
      "Tflop/s}}\n"
      "levels: [{name: node, size: 1, latency: 1 us, bandwidth: 1 GB/s}]\n");
}

// fc: 1000 x 2000 weights at 4 positions: 8e6 multiply-adds; |x| = 4000, |y| = 8000. relu: |x| = |y| = 8000.
const std::string two_layers = network("1000x4",
                                       "  - {name: fc, op: fc, filters: 2000, bias: false}\n"
                                       "  - {name: relu, op: relu}\n");

LayerTimes times_of(const std::string& text, Precision precision = Precision::fp32,
                    Optimizer optimizer = Optimizer::sgd) {
  return layer_times(workload_of(text), pencil(), precision, optimizer);
}
doctest::Approx near(double value) { return paradl::test::approx(value).epsilon(1e-12); }

TEST_CASE("roofline: a layer takes the longer time of arithmetic and memory, by hand") {
  const LayerTimes times = times_of(two_layers);
  REQUIRE(times.layer.size() == 2);
  CHECK(times.source == "roofline");
  CHECK(times.update_known);
  // fc: 2 * 8e6 flop at 1 Tflop/s = 16 us; 12 000 items of 4 B at 1 GB/s = 48 us. Memory wins.
  CHECK(times.layer[0].FW.base() == near(48e-6));
  // Backward: two products, 32 us; the items are moved twice, 96 us.
  CHECK(times.layer[0].BW.base() == near(96e-6));
  // SGD in fp32: gradient read, weight read and written: 12 B for each of 2e6 weights = 24 ms
  CHECK(times.layer[0].WU.base() == near(24e-3));
  // relu: 16 000 items of 4 B = 64 us; backward one and a half times that (y and dy read, dx written)
  CHECK(times.layer[1].FW.base() == near(64e-6));
  CHECK(times.layer[1].BW.base() == near(96e-6));
  CHECK(times.layer[1].WU == Seconds{});
}

TEST_CASE("roofline: a layer with much arithmetic is bound by it") {
  // fc of 1000 x 2000 on a flat input: 4e6 flop = 4 us against 3000 items = 12 us; a convolution of 8
  // channels and 8 filters of 11 x 11 on 32 x 32: 2 * 8*8*121*1024 flop = 15.859 us, against 16 384 items of
  // 4 B = 65.5 us. With 64 of each: 2 * 64*64*121*1024 flop = 1015.02 us against 524.3 us: arithmetic.
  const LayerTimes times =
      times_of(network("64x32x32", "  - {name: a, op: conv, filters: 64, kernel: 11, padding: 5}\n"));
  CHECK(times.layer[0].FW.base() == near(1015.021568e-6));
  CHECK(times.layer[0].BW.base() == near(2030.043136e-6));
}

TEST_CASE("attention moves its scores too") {
  // 24 x 10: |x| = 240, |y| = 80, scores 400 written and read: 240 + 80 + 800 = 1120 items of 4 B = 4.48 us
  const LayerTimes times = times_of(network("24x10", "  - {name: a, op: attention, heads: 4}\n"));
  CHECK(times.layer[0].FW.base() == near(4.48e-6));
  CHECK(times.layer[0].BW.base() == near(8.96e-6));
}

TEST_CASE("views take no time") {
  const LayerTimes times = times_of(network("24x10", "  - {name: a, op: flatten}\n"));
  CHECK(times.layer[0].FW == Seconds{});
  CHECK(times.layer[0].BW == Seconds{});
  CHECK(times.layer[0].WU == Seconds{});
}

TEST_CASE("16 bits move half the bytes, and have their own peak rate") {
  const LayerTimes times = times_of(two_layers, Precision::fp16);
  CHECK(times.layer[0].FW.base() == near(24e-6));
  CHECK(times.layer[1].FW.base() == near(32e-6));
  // Mixed: fp32 gradient read, fp32 master read and written, fp16 weight written: 4 + 8 + 2 = 14 B
  CHECK(times.layer[0].WU.base() == near(28e-3));
}

TEST_CASE("the optimizer decides what an update moves") {
  // fp32, items of 4 B for each weight: SGD 3, momentum 5, Adam 7, LAMB 9 (weight and update again for its
  // norms)
  CHECK(update_bytes(Optimizer::sgd, Precision::fp32) == Bytes{12});
  CHECK(update_bytes(Optimizer::momentum, Precision::fp32) == Bytes{20});
  CHECK(update_bytes(Optimizer::adam, Precision::fp32) == Bytes{28});
  CHECK(update_bytes(Optimizer::lamb, Precision::fp32) == Bytes{36});
  CHECK(update_bytes(Optimizer::adam, Precision::tf32) == Bytes{28});
  CHECK(update_bytes(Optimizer::adam, Precision::bf16) == Bytes{30});
  CHECK(times_of(two_layers, Precision::fp32, Optimizer::adam).layer[0].WU.base() == near(56e-3));
}

TEST_CASE("an update by separate kernels moves what each of its operations reads and writes") {
  const auto work = [](Optimizer optimizer, Precision precision = Precision::fp32) {
    return update_work(optimizer, precision, UpdateKernels::separate);
  };
  // PyTorch's SGD: decay 2+1, step 2+1, clear 0+1; with momentum m *= 1+1 and m += g 2+1 in addition.
  CHECK(work(Optimizer::sgd).moved == Bytes{28});
  CHECK(work(Optimizer::momentum).moved == Bytes{48});
  CHECK(work(Optimizer::momentum).kernels == 5);
  // Adam: decay 3, moments 2 + 3 + 2 + 3, denominator 2 + 2 + 2, step 4, clear 1.
  CHECK(work(Optimizer::adam).moved == Bytes{96});
  CHECK(work(Optimizer::adam).kernels == 10);
  CHECK(work(Optimizer::adam, Precision::fp16).moved == Bytes{102});  // and the 16-bit weights
  CHECK(update_work(Optimizer::adam, Precision::fp32, UpdateKernels::fused).moved == Bytes{28});
  CHECK(update_work(Optimizer::adam, Precision::fp32, UpdateKernels::fused).kernels == 1);
}

TEST_CASE("items of each precision, and what an optimizer keeps") {
  CHECK(item_bytes(Precision::fp32).weight == Bytes{4});
  CHECK(item_bytes(Precision::fp32).master == Bytes{});
  CHECK(item_bytes(Precision::tf32).activation == Bytes{4});
  CHECK(item_bytes(Precision::bf16).activation == Bytes{2});
  CHECK(item_bytes(Precision::bf16).gradient == Bytes{4});
  CHECK(item_bytes(Precision::bf16).sent_gradient == Bytes{2});
  CHECK(item_bytes(Precision::fp16).master == Bytes{4});
  CHECK(optimizer_slots(Optimizer::sgd) == 0);
  CHECK(optimizer_slots(Optimizer::momentum) == 1);
  CHECK(optimizer_slots(Optimizer::adam) == 2);
  CHECK(find_name<Precision>(precision_names, "bf16") == Precision::bf16);
  CHECK(find_name<Optimizer>(optimizer_names, "lamb") == Optimizer::lamb);
  CHECK_FALSE(find_name<Precision>(precision_names, "fp64"));
}

TEST_CASE("the measured time of a network is distributed like the roofline, a third of it forward") {
  // Roofline: fc 48 + 96 = 144 us, relu 64 + 96 = 160 us, 304 us in all; measured 608 us: twice as long.
  const LayerTimes times = times_of(two_layers + "time: 608 us\n");
  CHECK(times.source == "model file");
  CHECK_FALSE(times.update_known);
  CHECK(times.layer[0].FW.base() == near(96e-6));
  CHECK(times.layer[0].BW.base() == near(192e-6));
  CHECK((times.layer[1].FW + times.layer[1].BW).base() == near(320e-6));
  CHECK(times.layer[1].FW.base() == near(320e-6 / 3));
}

TEST_CASE("the measured time of a layer is its own, a third of it forward") {
  const LayerTimes times =
      times_of(network("1000x4",
                       "  - {name: fc, op: fc, filters: 2000, bias: false, time: 30 ms}\n"
                       "  - {name: relu, op: relu, time: 3 us}\n"));
  CHECK(times.source == "model file");
  CHECK(times.layer[0].FW.base() == near(10e-3));
  CHECK(times.layer[0].BW.base() == near(20e-3));
  CHECK(times.layer[1].FW.base() == near(1e-6));
  CHECK(times.layer[1].BW.base() == near(2e-6));
}

TEST_CASE(
    "layers without a measured time keep the roofline, and the answer says so; zero counts as measured") {
  const std::string fc = "  - {name: fc, op: fc, filters: 2000, bias: false, time: 30 ms}\n";
  const LayerTimes open = times_of(network("1000x4", fc + "  - {name: relu, op: relu}\n"));
  CHECK(open.source == "model file, roofline for 1 layer");
  CHECK(open.layer[0].FW.base() == near(10e-3));
  CHECK(open.layer[1].FW.base() == near(64e-6));
  const LayerTimes zero = times_of(network("1000x4", fc + "  - {name: relu, op: relu, time: 0 s}\n"));
  CHECK(zero.source == "model file");
  CHECK(zero.layer[1].FW == Seconds{});
}

TEST_CASE("a measured time for a network without work gives finite numbers") {
  const LayerTimes times = times_of(network("24x10", "  - {name: a, op: flatten}\n") + "time: 1 ms\n");
  CHECK(std::isfinite(times.layer[0].FW.base()));
  CHECK(std::isfinite(times.layer[0].BW.base()));
}

TEST_CASE("a faster device is never slower") {
  const Workload work = build_workload(shipped().model("resnet50"));
  const LayerTimes v100 =
      layer_times(work, build_machine(shipped().system("abci")), Precision::fp32, Optimizer::momentum);
  const LayerTimes a100 =
      layer_times(work, build_machine(shipped().system("selene")), Precision::fp32, Optimizer::momentum);
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    CHECK(a100.layer[i].FW <= v100.layer[i].FW);
    CHECK(a100.layer[i].BW <= v100.layer[i].BW);
    CHECK(a100.layer[i].WU <= v100.layer[i].WU);
  }
}

TEST_CASE("a precision that the device lacks is a usage error") {
  CHECK(peak(pencil(), Precision::fp16) == FlopRate{4e12});
  CHECK(complaint([] { times_of(two_layers, Precision::bf16); }) ==
        "usage: slate (pencil) has no bf16 peak\n"
        "help: it has: fp32, fp16\n");
  CHECK_THROWS_AS(peak(pencil(), Precision::fp8), UsageError);
}

}  // namespace
}  // namespace paradl
