#include "paradl/machine/convolution_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "paradl/machine/product_time.hpp"

namespace paradl {
namespace {

// Libraries have fewer kernels for convolutions than for products: no narrow tiles, and backward only large
// ones.
constexpr std::array<Tile, 6> tiles{{{256, 128}, {128, 128}, {128, 64}, {64, 64}, {128, 32}, {64, 32}}};
constexpr std::array<Tile, 3> data_tiles{{{256, 128}, {128, 128}, {128, 64}}};
constexpr std::array<Tile, 4> weight_tiles{{{256, 128}, {128, 128}, {128, 64}, {128, 32}}};
constexpr int most_weight_splits = 128;
constexpr double narrowest_tile = 32;
constexpr double tensor_multiple = 8;

double volume(const std::array<double, 3>& extent) { return extent[0] * extent[1] * extent[2]; }

double rounded_up(double n, double multiple) { return std::ceil(n / multiple) * multiple; }

double relative_efficiency(const KernelParameters& fitted, ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward:
      return fitted.forward;
    case ConvolutionPass::backward_data:
      return fitted.backward_data;
    default:
      return fitted.backward_weights;
  }
}

/// Bytes of input, output and weights, each once.
Bytes moved(const KernelDevice& device, const Convolution& c) {
  return (c.samples * (c.x_channels * volume(c.x) + c.y_channels * volume(c.y)) +
          c.x_channels / c.groups * c.y_channels * volume(c.kernel)) *
         device.item;
}

/// Work of a strided backward-data pass / work it needs: a kernel is padded to whole strides.
double stride_waste(const Convolution& c) {
  double waste = 1;
  for (std::size_t d = 0; d < 3; ++d) waste *= rounded_up(c.kernel[d], c.stride[d]) / c.kernel[d];
  return waste;
}

constexpr Seconds infinite_time{std::numeric_limits<double>::infinity()};

// Each algorithm may return `infinite_time` if it takes longer than `at_most`, the time of another one.

Seconds implicit_product(const KernelDevice& device, const Convolution& c, ConvolutionPass pass,
                         Seconds at_most) {
  const double C = c.x_channels / c.groups, K = c.y_channels / c.groups;
  const double window = C * volume(c.kernel);
  const double outputs = c.samples * volume(c.y), inputs = c.samples * volume(c.x);
  Product p{.batch = c.groups, .moved = moved(device, c)};
  Kernels kernels{.tiles = tiles, .efficiency = relative_efficiency(device.fitted, pass)};
  if (c.dims > 2) kernels.efficiency *= device.fitted.volume;
  double launches = 2;  // the kernel, and one that prepares offsets or converts the layout
  switch (pass) {
    case ConvolutionPass::forward:
      p.m = outputs, p.n = K, p.k = window;
      break;
    case ConvolutionPass::backward_data:
      p.m = inputs, p.n = C, p.k = K * volume(c.kernel) * outputs / inputs;
      kernels.tiles = data_tiles;
      kernels.efficiency /= std::pow(stride_waste(c), device.fitted.strided);
      break;
    case ConvolutionPass::backward_weights:
      p.m = K, p.n = window, p.k = outputs;
      kernels.tiles = weight_tiles;
      kernels.most_splits = most_weight_splits;
      launches = 3;
  }
  const Seconds launch = launches * device.fitted.launch;
  return launch + kernel_time(device, p, kernels, at_most - launch);
}

/// Another algorithm for backward-data: products of each output with all weights, (N OH OW) x (C R S) over K,
/// are added to their inputs. It wastes no work on few channels or strides, but each product is written and
/// added.
Seconds scattered_product(const KernelDevice& device, const Convolution& c, Seconds at_most) {
  const double window = c.x_channels / c.groups * volume(c.kernel), outputs = c.samples * volume(c.y);
  Product p{.m = outputs, .n = window, .k = c.y_channels / c.groups, .batch = c.groups};
  p.moved = moved(device, c) + 2 * c.groups * outputs * window * device.item;
  Kernels kernels{.tiles = tiles, .efficiency = device.fitted.backward_data};
  if (c.dims > 2) kernels.efficiency *= device.fitted.volume;
  const Seconds launch = 2 * device.fitted.launch;
  return launch + kernel_time(device, p, kernels, at_most - launch);
}

/// F(2x2, 3x3) in one kernel: 16 products instead of 36.
Seconds winograd_fused(const KernelDevice& device, const Convolution& c, ConvolutionPass pass,
                       Seconds at_most) {
  constexpr double saved = 2.25;
  KernelDevice faster = device;
  faster.fitted.compute *= saved * device.fitted.winograd;
  return implicit_product(faster, c, pass, at_most);
}

/// F(4x4, RxR): alpha^2 products of transformed tiles, alpha = R + 3, with transform kernels before and
/// after.
Seconds winograd_by_products(const KernelDevice& device, const Convolution& c, ConvolutionPass pass,
                             Seconds at_most) {
  constexpr double side = 4, launches = 4;
  const double alpha = c.kernel[0] + side - 1, points = alpha * alpha;
  const double C = c.x_channels, K = c.y_channels;
  const double N = c.samples * std::ceil(c.y[0] / side) * std::ceil(c.y[1] / side);
  const Bytes transformed = points * (N * (C + K) + C * K) * device.item;
  if (points * N * (C + K) * device.item > device.policy.convolutions.workspace)
    return infinite_time;
  Product p{.batch = points, .moved = transformed};
  switch (pass) {
    case ConvolutionPass::forward:
      p.m = N, p.n = K, p.k = C;
      break;
    case ConvolutionPass::backward_data:
      p.m = N, p.n = C, p.k = K;
      break;
    case ConvolutionPass::backward_weights:
      p.m = K, p.n = C, p.k = N;
  }
  const Seconds launch = launches * device.fitted.launch;
  const Seconds transforms = (moved(device, c) + transformed) / (device.fitted.memory * device.bandwidth);
  const Seconds product =
      kernel_time(device, p, {.tiles = product_tiles(), .efficiency = device.fitted.winograd},
                  at_most - launch - transforms);
  return launch + product + transforms;
}

bool suits_winograd(const KernelDevice& device, const Convolution& c) {
  const bool square = c.kernel[0] == c.kernel[1] && (c.kernel[0] == 3 || c.kernel[0] == 5);
  return device.policy.convolutions.winograd && device.fitted.winograd > 0 && !device.tensor_cores &&
         c.dims == 2 && c.groups == 1 && square && volume(c.stride) == 1;
}

/// Depthwise: each value is read once for all products of its window.
Seconds direct(const KernelDevice& device, const Convolution& c) {
  const Flop work{2 * c.samples * c.y_channels * volume(c.y) * volume(c.kernel)};
  return device.pass(moved(device, c)) + work / (device.fitted.compute * device.plain_peak);
}

}  // namespace

Seconds convolution_time(const KernelDevice& given, const Convolution& asked, ConvolutionPass pass) {
  KernelDevice device = given;
  Convolution c = asked;
  if (c.groups > 1 && c.groups == c.x_channels) return direct(device, c);
  if (device.tensor_cores) {
    // If the channels are not a multiple of eight, they are padded and do not use tensor cores.
    const double C = c.x_channels / c.groups, K = c.y_channels / c.groups;
    const double C8 = rounded_up(C, tensor_multiple), K8 = rounded_up(K, tensor_multiple);
    if (C8 != C || K8 != K) device.peak = device.plain_peak;
    c.x_channels = C8 * c.groups, c.y_channels = K8 * c.groups;
  }
  // Winograd first: it is usually the fastest, and lets the others give up early.
  Seconds best = infinite_time;
  if (suits_winograd(device, c)) {
    if (c.kernel[0] == 3 && pass != ConvolutionPass::backward_weights)
      best = winograd_fused(device, c, pass, best);
    best = std::min(best, winograd_by_products(device, c, pass, best));
  }
  best = std::min(best, implicit_product(device, c, pass, best));
  if (pass == ConvolutionPass::backward_data && c.x_channels / c.groups < narrowest_tile)
    best = std::min(best, scattered_product(device, c, best));
  return best;
}

}  // namespace paradl
