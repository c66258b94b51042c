#include "paradl/machine/kernel_time.hpp"

#include <algorithm>
#include <cmath>

#include "paradl/machine/convolution_time.hpp"
#include "paradl/machine/memory_passes.hpp"
#include "paradl/machine/product_time.hpp"

namespace paradl {
namespace {

std::array<double, 3> numbers(const std::array<std::int64_t, 3>& from) {
  return {double(from[0]), double(from[1]), double(from[2])};
}

/// The gradient of a bias is the sum of dy over everything but the channels.
Seconds bias_gradient(const KernelDevice& device, const LocalLayer& l) {
  return l.bias ? device.pass(double(l.y_items()) * device.item) : Seconds{};
}

PassTimes convolution(const KernelDevice& device, const LocalLayer& l) {
  Convolution c{.samples = double(l.samples),
                .x_channels = double(l.x_channels),
                .y_channels = double(l.y_channels),
                .groups = double(l.groups),
                .dims = l.dims};
  c.x = numbers(l.x_extent);
  c.y = numbers(l.y_extent);
  c.kernel = numbers(l.kernel);
  c.stride = numbers(l.stride);
  return {.forward = convolution_time(device, c, ConvolutionPass::forward),
          .backward_data = convolution_time(device, c, ConvolutionPass::backward_data),
          .backward_weights =
              convolution_time(device, c, ConvolutionPass::backward_weights) + bias_gradient(device, l)};
}

/// Each expert computes its own product, for its share of the positions.
PassTimes fully_connected(const KernelDevice& device, const LocalLayer& l) {
  const double experts = double(std::max<std::int64_t>(l.experts, 1)), C = double(l.x_channels),
               K = double(l.y_channels), rows = std::ceil(double(l.samples * l.x_positions()) / experts);
  return {.forward = product_time(device, rows, K, C, experts),
          .backward_data = product_time(device, rows, C, K, experts),
          .backward_weights = product_time(device, K, C, rows, experts) + bias_gradient(device, l)};
}

/// Scores and context are batched products, one for each head; the scores cross the memory bus in between,
/// and heads are permuted before and after. Backward has each product twice. If scores are not stored, they
/// do not cross the bus, and backward computes them again.
PassTimes attention(const KernelDevice& device, const LocalLayer& l) {
  const double queries = double(l.x_positions()), keys = l.kv_length > 0 ? double(l.kv_length) : queries,
               heads = double(l.samples * l.heads), size = double(l.y_channels) / double(l.heads);
  const AttentionPasses& passes = attention_passes();
  const Bytes scores = heads * queries * keys * device.item, y = double(l.y_items()) * device.item;
  const Seconds score = product_time(device, queries, keys, size, heads),
                context = product_time(device, queries, size, keys, heads);
  PassTimes time;
  time.forward = score + context + device.pass(passes.permute.forward * y);
  time.backward_data = 2 * score + 2 * context + device.pass(passes.permute.backward * y);
  if (l.flash) {
    time.backward_data += score;
    return time;
  }
  time.forward += device.pass(passes.softmax.forward * scores) + device.pass(passes.dropout.forward * scores);
  time.backward_data +=
      device.pass(passes.softmax.backward * scores) + device.pass(passes.dropout.backward * scores);
  return time;
}

Seconds update(const KernelDevice& device, const LocalLayer& l) {
  Seconds time;
  for (const std::int64_t items : l.arrays())
    if (items > 0) time += device.update.kernels * device.fitted.launch;
  return time + double(l.weights) * device.update.moved / (device.fitted.stream * device.bandwidth);
}

}  // namespace

PassTimes modelled_passes(const KernelDevice& device, const LocalLayer& l) {
  PassTimes time;
  switch (l.op) {
    case Op::conv:
      time = convolution(device, l);
      break;
    case Op::fc:
    case Op::router:
      time = fully_connected(device, l);
      break;
    case Op::attention:
      time = attention(device, l);
      break;
    default:
      time = memory_bound_passes(device, l);
  }
  if (l.weights > 0) time.update = update(device, l);
  return time;
}

}  // namespace paradl
