#include "paradl/machine/kernel_time.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "paradl/machine/convolution_time.hpp"
#include "paradl/machine/product_time.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {

/// One multiprocessor of 1 Tflop/s, 1 GB/s, no launches and no losses.
KernelDevice slate() {
  KernelDevice device{.multiprocessors = 1,
                      .peak = FlopRate{1e12},
                      .plain_peak = FlopRate{1e12},
                      .bandwidth = Bandwidth{1e9},
                      .item = Bytes{4},
                      .update = {Bytes{20}}};
  device.fitted = {.compute = 1, .tile = 0, .memory = 1, .stream = 1, .launch = Seconds{0}};
  device.fitted.forward = device.fitted.backward_data = device.fitted.backward_weights = 1;
  return device;
}

Convolution conv(double samples, double x, double y, double extent, double kernel, double stride = 1) {
  Convolution c{.samples = samples, .x_channels = x, .y_channels = y};
  c.x = {extent, extent, 1};
  c.y = {extent / stride, extent / stride, 1};
  c.kernel = {kernel, kernel, 1};
  c.stride = {stride, stride, 1};
  return c;
}

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::backward_data,
                                      ConvolutionPass::backward_weights};

}  // namespace

TEST_CASE("a product by hand: whole tiles at the peak rate, and its bytes") {
  KernelDevice device = slate();
  const Product product{.m = 256, .n = 128, .k = 1000, .moved = Bytes{0}};
  const Tile tile[] = {{256, 128}};
  // 2 * 256 * 128 * 1000 flop at 1 Tflop/s.
  CHECK(kernel_time(device, product, {.tiles = tile}).base() == test::approx(65.536e-6));
  // One more row makes another wave of blocks.
  CHECK(kernel_time(device, {.m = 257, .n = 128, .k = 1000}, {.tiles = tile}).base() ==
        test::approx(2 * 65.536e-6));
  // With 65 536 bytes at 1 GB/s as well: the two times add as the sides of a right angle.
  Product moving = product;
  moving.moved = Bytes{65536};
  CHECK(kernel_time(device, moving, {.tiles = tile}).base() == test::approx(std::sqrt(2) * 65.536e-6));
  // a = 256 * 128 / 384 = 85.33; a tile penalty of as much halves the rate.
  device.fitted.tile = 256.0 * 128 / 384;
  CHECK(kernel_time(device, product, {.tiles = tile}).base() == test::approx(2 * 65.536e-6));
}

TEST_CASE("a limit changes no time of a kernel, it only drops what takes longer") {
  const KernelDevice device{.multiprocessors = 80,
                            .peak = FlopRate{15.7e12},
                            .plain_peak = FlopRate{15.7e12},
                            .bandwidth = Bandwidth{900e9}};
  const Kernels kernels{.tiles = product_tiles(), .most_splits = 128};
  for (const double m : {7.0, 64.0, 1000.0, 50176.0})
    for (const double k : {9.0, 576.0, 100000.0}) {
      CAPTURE(m);
      CAPTURE(k);
      const Product product{.m = m, .n = 64, .k = k, .moved = Bytes{4 * (m * k + 64 * k + 64 * m)}};
      const Seconds time = kernel_time(device, product, kernels);
      CHECK(kernel_time(device, product, kernels, time) == time);
      CHECK(kernel_time(device, product, kernels, 2 * time) == time);
      for (const Seconds less : {0.9 * time, Seconds{}, -1.0 * time})
        CHECK(std::isinf(kernel_time(device, product, kernels, less).base()));
    }
}

TEST_CASE("a split sum uses multiprocessors that would be idle") {
  KernelDevice device = slate();
  device.multiprocessors = 8;
  device.bandwidth = Bandwidth{1e15};
  const Tile tile[] = {{128, 128}};
  const Product product{.m = 128, .n = 128, .k = 8000};
  const double whole = kernel_time(device, product, {.tiles = tile}).base();
  CHECK(kernel_time(device, product, {.tiles = tile, .most_splits = 8}).base() ==
        test::approx(whole / 8).epsilon(1e-3));
}

TEST_CASE("laws of the model: more of anything does not take less time") {
  KernelDevice device = slate();
  device.multiprocessors = 80;
  device.bandwidth = Bandwidth{100e9};
  device.fitted = {};
  for (const double n : {1.0, 7.0, 32.0, 100.0, 1000.0, 4096.0})
    for (const double k : {1.0, 64.0, 1000.0, 50000.0}) {
      // Few blocks do not fill the memory bus, so twice the rows may be slightly faster (0.4 %).
      CHECK(product_time(device, n, 64, k).base() <= 1.01 * product_time(device, 2 * n, 64, k).base());
      CHECK(product_time(device, n, 64, k) <= product_time(device, n, 64, k, 2));
      CHECK(product_time(device, n, 64, k).base() == test::approx(product_time(device, 64, n, k).base()));
    }
  for (const ConvolutionPass pass : passes)
    for (const double kernel : {1.0, 3.0, 5.0}) {
      const Seconds once = convolution_time(device, conv(8, 64, 64, 28, kernel), pass);
      CHECK(once <= convolution_time(device, conv(16, 64, 64, 28, kernel), pass));
      CHECK(once <= convolution_time(device, conv(8, 128, 64, 28, kernel), pass));
      CHECK(once <= convolution_time(device, conv(8, 64, 128, 28, kernel), pass));
      // Never faster than nine quarters of the peak (Winograd's four by four), nor than memory.
      const double flop = 2 * 8 * 64 * 64 * 28 * 28 * kernel * kernel;
      CHECK(once.base() > flop / device.peak.base() / 16);
    }
}

TEST_CASE("a framework's policy: fewer algorithms never make a convolution faster") {
  KernelDevice best = slate(), limited = slate(), plain = slate();
  for (KernelDevice* device : {&best, &limited, &plain}) {
    device->multiprocessors = 80;
    device->peak = device->plain_peak = FlopRate{15.7e12};
    device->bandwidth = Bandwidth{900e9};
  }
  limited.policy.convolutions.workspace = Bytes{1e6};
  plain.policy.convolutions.winograd = false;
  const Convolution c = conv(64, 256, 256, 28, 3), one = conv(64, 256, 256, 28, 1);
  for (const ConvolutionPass pass : passes) {
    CHECK(convolution_time(best, c, pass) < convolution_time(limited, c, pass));
    CHECK(convolution_time(limited, c, pass) <= convolution_time(plain, c, pass));
    CHECK(convolution_time(best, one, pass) == convolution_time(plain, one, pass));
  }
  CHECK(convolution_time(limited, c, ConvolutionPass::forward) <
        convolution_time(plain, c, ConvolutionPass::forward));  // the fused kernel needs no workspace
}

TEST_CASE("three extents have their own efficiency; tensor cores need multiples of eight channels") {
  KernelDevice device = slate();
  device.bandwidth = Bandwidth{1e15};
  device.fitted.volume = 0.25;
  Convolution flat = conv(1, 128, 128, 64, 1), deep = flat;
  deep.dims = 3;
  CHECK(convolution_time(device, deep, ConvolutionPass::forward).base() ==
        test::approx(4 * convolution_time(device, flat, ConvolutionPass::forward).base()));
  device.tensor_cores = true;
  device.peak = FlopRate{8e12};
  const Convolution odd = conv(1, 127, 128, 64, 1);
  CHECK(convolution_time(device, odd, ConvolutionPass::forward).base() ==
        test::approx(8 * convolution_time(device, flat, ConvolutionPass::forward).base()));
}

TEST_CASE("a layer that is bound by memory, by hand: passes over its bytes") {
  const KernelDevice device = slate();
  LocalLayer relu{.op = Op::relu, .dims = 1, .samples = 10, .x_channels = 25, .y_channels = 25};
  relu.x_extent[0] = relu.y_extent[0] = 100;
  // 25 000 items of 4 B at 1 GB/s are 100 us a pass: read and write; backward reads two and writes one.
  CHECK(modelled_passes(device, relu).forward.base() == test::approx(200e-6));
  CHECK(modelled_passes(device, relu).backward().base() == test::approx(300e-6));
  CHECK(modelled_passes(device, relu).update.base() == 0);
  LocalLayer add = relu;
  add.op = Op::add;
  add.inputs = 2;
  CHECK(modelled_passes(device, add).forward.base() == test::approx(300e-6));
  CHECK(modelled_passes(device, add).backward().base() == 0);
  LocalLayer view = relu;
  view.op = Op::flatten;
  CHECK(modelled_passes(device, view).forward.base() == 0);
  LocalLayer fc{.op = Op::fc, .dims = 0, .samples = 8, .x_channels = 100, .y_channels = 50, .weights = 5000};
  CHECK(modelled_passes(device, fc).update.base() == test::approx(100e-6));  // 20 B each
}

TEST_CASE("attention: split queries read all keys, and stored scores make the forward pass slower") {
  const KernelDevice device = slate();
  LocalLayer whole{.op = Op::attention, .dims = 1, .samples = 2, .x_channels = 3072, .y_channels = 1024};
  whole.heads = whole.kv_heads = 8;
  whole.x_extent[0] = whole.y_extent[0] = 2048;
  whole.flash = true;
  LocalLayer quarter = whole;
  quarter.x_extent[0] = quarter.y_extent[0] = 512;
  quarter.kv_length = 2048;
  const PassTimes all = modelled_passes(device, whole), part = modelled_passes(device, quarter);
  CHECK(4 * part.forward.base() >= all.forward.base());
  CHECK(4 * part.forward.base() <= 1.5 * all.forward.base());  // each part reads all keys and values
  // 16 heads, two products of 2 * 2048 * 2048 * 128 flop at 1 Tflop/s; one more of the five backward.
  CHECK(all.forward.base() >= 16 * 2 * 2.0 * 2048 * 2048 * 128 / 1e12);
  CHECK(all.backward().base() >= 2.5 * 16 * 2 * 2.0 * 2048 * 2048 * 128 / 1e12);
  LocalLayer crossed = whole;  // keys and values are a second input
  crossed.x_channels = 1024;
  crossed.inputs = 2;
  CHECK(modelled_passes(device, crossed).forward.base() == test::approx(all.forward.base()));
  LocalLayer stored = whole;
  stored.flash = false;
  CHECK(modelled_passes(device, stored).forward > all.forward);
}

TEST_CASE("experts are separate products: as many flop, more weights to read") {
  const KernelDevice device = slate();
  LocalLayer one{.op = Op::fc, .dims = 1, .samples = 8, .x_channels = 1024, .y_channels = 1024};
  one.x_extent[0] = one.y_extent[0] = 1024;
  LocalLayer eight = one;
  eight.experts = 8;
  CHECK(modelled_passes(device, eight).forward > modelled_passes(device, one).forward);
  CHECK(modelled_passes(device, eight).forward < 2 * modelled_passes(device, one).forward);
}

TEST_CASE("every operation has a time, and none is negative") {
  const KernelDevice device = slate();
  for (std::size_t op = 0; op < op_count; ++op) {
    LocalLayer l{.op = Op(op), .dims = 2, .samples = 2, .x_channels = 24, .y_channels = 24};
    l.heads = l.kv_heads = 2;
    l.rows = 10;
    l.x_extent = l.y_extent = {4, 4, 1};
    CAPTURE(traits(l.op).name);
    const PassTimes time = modelled_passes(device, l);
    CHECK(std::isfinite(time.forward.base()));
    CHECK((time.forward > Seconds{}) == !is_view(l.op));
    CHECK(time.backward() >= Seconds{});
  }
}

TEST_CASE("fitted kernels apply to every precision with the same rate and item size") {
  DeviceSpec device;
  device.multiprocessors = 100;
  device.peak[std::size_t(Precision::fp32)] = FlopRate{20e12};
  device.peak[std::size_t(Precision::tf32)] = FlopRate{150e12};
  device.peak[std::size_t(Precision::fp16)] = FlopRate{300e12};
  device.peak[std::size_t(Precision::bf16)] = FlopRate{300e12};
  device.peak[std::size_t(Precision::fp8)] = FlopRate{600e12};
  device.memory_bandwidth = Bandwidth{1e12};
  CHECK_FALSE(fitted_precision(device, Precision::fp16));
  device.kernels.emplace();
  device.kernels->fitted[std::size_t(Precision::fp16)] = KernelParameters{.compute = 0.7};
  CHECK(fitted_precision(device, Precision::fp16) == Precision::fp16);
  CHECK(fitted_precision(device, Precision::bf16) == Precision::fp16);
  for (const Precision other : {Precision::fp32, Precision::tf32, Precision::fp8})
    CHECK_FALSE(fitted_precision(device, other));
  CHECK(kernel_device(device, Precision::bf16, Optimizer::sgd)->fitted.compute == 0.7);
  CHECK(kernel_device(device, Precision::tf32, Optimizer::sgd)->fitted.compute == KernelParameters{}.compute);
  device.peak[std::size_t(Precision::bf16)] = FlopRate{150e12};  // bf16 at half the rate
  CHECK_FALSE(fitted_precision(device, Precision::bf16));
}

}  // namespace paradl
