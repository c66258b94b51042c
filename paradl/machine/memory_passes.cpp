#include "paradl/machine/memory_passes.hpp"

namespace paradl {
namespace {

// The reads and writes that a kernel needs or, if libraries do more, the number that fits Aceso's operator
// times on V100 (marked A). For the marked ones we have no other data.

/// Passes over y, which has as many items as one input.
constexpr MemoryPasses of_y(Op op) {
  switch (op) {
    case Op::batch_norm:
    case Op::group_norm:
      return {3, 5};  // statistics, then values; backward the same with dy
    case Op::layer_norm:
    case Op::rms_norm:
      return {3, 11};  // A: backward also sums over rows for the gradients of its weights
    case Op::gelu:
      return {2.25, 4.5};  // A
    case Op::softmax:
      return {1.9, 2.5};  // A
    case Op::dropout:
      return {2.5, 2.5};  // a mask of one byte
    case Op::relu:
    case Op::silu:
    case Op::tanh:
    case Op::sigmoid:
      return {2, 3};
    default:
      return {2, 2};
  }
}

/// The same with fused kernels: a norm reads its rows once, and dropout adds only its mask to an addition.
constexpr MemoryPasses of_y_fused(Op op) {
  switch (op) {
    case Op::layer_norm:
    case Op::rms_norm:
      return {2, 4};
    case Op::dropout:
      return {0.5, 2.5};
    default:
      return of_y(op);
  }
}

/// Passes over x and y, each read or written once.
constexpr bool counts_x_and_y(Op op) {
  return op == Op::avg_pool || op == Op::global_pool || op == Op::concat || op == Op::tokens ||
         op == Op::dispatch || op == Op::combine || op == Op::upsample;
}

// Bytes moved per logit by the loss of a large vocabulary in Megatron-LM (fitted on A100).
constexpr double loss_forward = 47, loss_backward = 20;

}  // namespace

const AttentionPasses& attention_passes() {
  static constexpr AttentionPasses passes{
      .softmax = {1.9, 2.5}, .dropout = {3, 2.5}, .permute = {4, 6}};  // A
  return passes;
}

PassTimes memory_bound_passes(const KernelDevice& device, const LocalLayer& l) {
  if (is_view(l.op)) return {};
  const Bytes x = double(l.x_items()) * device.item, y = double(l.y_items()) * device.item;
  const auto times = [&](Bytes forward, Bytes backward) {
    return PassTimes{.forward = device.pass(forward),
                     .backward_data = backward > Bytes{} ? device.pass(backward) : Seconds{}};
  };
  if (counts_x_and_y(l.op)) return times(x + y, x + y);
  switch (l.op) {
    case Op::add:
      return times(x + y, Bytes{});  // the gradient is that of y, for all inputs
    case Op::gate:
      return times(x + y, 2 * x + y);
    case Op::max_pool: {
      const Bytes moved = x + y + double(l.y_items()) * Bytes{8};  // including the index of each maximum
      return times(moved, 1.5 * moved);
    }
    case Op::embedding: {
      const Bytes table = double(l.arrays()[0]) * device.item;
      PassTimes time = times(2 * y, Bytes{});
      time.backward_weights = device.pass(table + 4 * y);  // cleared, then rows are added
      return time;
    }
    case Op::loss:
      return times(double(l.x_items()) * Bytes{loss_forward}, double(l.x_items()) * Bytes{loss_backward});
    default: {
      const MemoryPasses passes = device.policy.fused ? of_y_fused(l.op) : of_y(l.op);
      return times(passes.forward * y, passes.backward * y);
    }
  }
}

}  // namespace paradl
