#include "paradl/machine/kernel_time.hpp"

#include <algorithm>
#include <cmath>

#include "paradl/machine/convolution_time.hpp"
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

/// How often attention moves its scores, and y to permute heads. Fitted to Aceso's operator times on V100.
struct PassCount {
  double forward, backward;
};
constexpr PassCount softmax_of_scores{1.9, 2.5}, dropout_of_scores{3, 2.5}, permutation_of_heads{4, 6};

/// Scores and context are batched products, one for each head; the scores cross the memory bus in between,
/// and heads are permuted before and after. Backward has each product twice. If scores are not stored, they
/// do not cross the bus, and backward computes them again.
PassTimes attention(const KernelDevice& device, const LocalLayer& l) {
  const double queries = double(l.x_positions()), keys = l.kv_length > 0 ? double(l.kv_length) : queries,
               heads = double(l.samples * l.heads), size = double(l.y_channels) / double(l.heads);
  const Bytes scores = heads * queries * keys * device.item, y = double(l.y_items()) * device.item;
  const Seconds score = product_time(device, queries, keys, size, heads),
                context = product_time(device, queries, size, keys, heads);
  PassTimes time;
  time.forward = score + context + device.pass(permutation_of_heads.forward * y);
  time.backward_data = 2 * score + 2 * context + device.pass(permutation_of_heads.backward * y);
  if (l.flash) {
    time.backward_data += score;
    return time;
  }
  time.forward +=
      device.pass(softmax_of_scores.forward * scores) + device.pass(dropout_of_scores.forward * scores);
  time.backward_data +=
      device.pass(softmax_of_scores.backward * scores) + device.pass(dropout_of_scores.backward * scores);
  return time;
}

Bytes moved(const KernelDevice& device, const LocalLayer& l, const Traffic& pass) {
  const double x = double(l.x_items()), y = double(l.y_items());
  return pass.x * (x * device.item) + pass.y * (y * device.item) + x * Bytes{pass.x_bytes} +
         y * Bytes{pass.y_bytes};
}

/// A layer bound by memory: bytes / (stream * W), and one launch for each pass.
PassTimes memory_bound(const KernelDevice& device, const LocalLayer& l) {
  const OpTraits& op = traits(l.op);
  const MemoryPasses& moves = device.policy.fused && op.fused ? *op.fused : op.moves;
  const Bytes backward = moved(device, l, moves.backward);
  return {.forward = device.pass(moved(device, l, moves.forward)),
          .backward_data = backward > Bytes{} ? device.pass(backward) : Seconds{}};
}

/// The gradient of an embedding's table is cleared, then rows are added.
PassTimes lookup(const KernelDevice& device, const LocalLayer& l) {
  const Bytes table = double(l.arrays()[0]) * device.item, y = double(l.y_items()) * device.item;
  PassTimes time = memory_bound(device, l);
  time.backward_weights = device.pass(table + 4 * y);
  return time;
}

PassTimes passes(const KernelDevice& device, const LocalLayer& l) {
  switch (traits(l.op).kind) {
    case OpKind::convolution:
      return convolution(device, l);
    case OpKind::product:
    case OpKind::router:
      return fully_connected(device, l);
    case OpKind::attention:
      return attention(device, l);
    case OpKind::embedding:
      return lookup(device, l);
    case OpKind::flatten:
    case OpKind::select:
    case OpKind::part:
      return {};
    case OpKind::activation:
    case OpKind::pointwise:
    case OpKind::norm:
    case OpKind::rms_norm:
    case OpKind::group_norm:
    case OpKind::pool:
    case OpKind::global_pool:
    case OpKind::position:
    case OpKind::tokens:
    case OpKind::gate:
    case OpKind::add:
    case OpKind::concat:
    case OpKind::upsample:
    case OpKind::dispatch:
    case OpKind::combine:
    case OpKind::loss:
      return memory_bound(device, l);
  }
  return {};
}

Seconds update(const KernelDevice& device, const LocalLayer& l) {
  Seconds time;
  for (const std::int64_t items : l.arrays())
    if (items > 0) time += device.update.kernels * device.fitted.launch;
  return time + double(l.weights) * device.update.moved / (device.fitted.stream * device.bandwidth);
}

}  // namespace

PassTimes modelled_passes(const KernelDevice& device, const LocalLayer& l) {
  PassTimes time = passes(device, l);
  if (l.weights > 0) time.update = update(device, l);
  return time;
}

}  // namespace paradl
