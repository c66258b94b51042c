#include "paradl/machine/kernel_time.hpp"

#include "paradl/machine/convolution_time.hpp"
#include "paradl/machine/memory_passes.hpp"
#include "paradl/machine/product_time.hpp"

namespace paradl {
namespace {

std::array<double, 3> numbers(const std::array<std::int64_t, 3>& from) {
  return {double(from[0]), double(from[1]), double(from[2])};
}

/// The gradient of a bias is the sum of dy over all but its channels.
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

PassTimes fully_connected(const KernelDevice& device, const LocalLayer& l) {
  const double rows = double(l.samples * l.x_positions()), C = double(l.x_channels), K = double(l.y_channels);
  return {.forward = product_time(device, rows, K, C),
          .backward_data = product_time(device, rows, C, K),
          .backward_weights = product_time(device, K, C, rows) + bias_gradient(device, l)};
}

/// Scores and context are batched products, one for each head; the scores cross the memory bus in between,
/// and heads are permuted into place before and after. Backward has each product twice.
PassTimes attention(const KernelDevice& device, const LocalLayer& l) {
  const double s = double(l.x_positions()), heads = double(l.samples * l.heads);
  const double size = double(l.x_channels) / double(l.heads + 2 * l.kv_heads);
  const AttentionPasses& passes = attention_passes();
  const Bytes scores = heads * s * s * device.item, y = double(l.y_items()) * device.item;
  PassTimes time;
  time.forward = product_time(device, s, s, size, heads) + product_time(device, s, size, s, heads) +
                 device.pass(passes.softmax.forward * scores) + device.pass(passes.dropout.forward * scores) +
                 device.pass(passes.permute.forward * y);
  time.backward_data =
      2 * product_time(device, s, s, size, heads) + 2 * product_time(device, s, size, s, heads) +
      device.pass(passes.softmax.backward * scores) + device.pass(passes.dropout.backward * scores) +
      device.pass(passes.permute.backward * y);
  return time;
}

Seconds update(const KernelDevice& device, const LocalLayer& l) {
  Seconds time;
  for (const std::int64_t items : l.arrays())
    if (items > 0) time += device.fitted.launch;
  return time + double(l.weights) * device.update / (device.fitted.stream * device.bandwidth);
}

}  // namespace

PassTimes modelled_passes(const KernelDevice& device, const LocalLayer& l) {
  PassTimes time;
  switch (l.op) {
    case Op::conv:
      time = convolution(device, l);
      break;
    case Op::fc:
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
