#pragma once
#include <array>
#include <string_view>

#include "paradl/spec/precision.hpp"

namespace paradl {

/// Whether an update takes one kernel for each weight tensor, or one for each operation of the optimizer.
enum class UpdateKernels { fused, separate };
inline constexpr std::array<std::string_view, 2> update_kernel_names{"fused", "separate"};

/// The work to update one weight tensor: bytes read and written for each weight, and number of kernels.
struct UpdateWork {
  Bytes moved;
  int kernels = 1;
};

/// Separate kernels as in PyTorch's optimizers of 2019 and 2020, with the fp32 items that each reads +
/// writes.
///
/// SGD: weight decay g += w (2+1); with momentum m *= (1+1), m += g (2+1); step w -= m (2+1); gradients
/// cleared (0+1).
///
/// Adam: decay (2+1); m *= (1+1), m += g (2+1); v *= (1+1), v += g g (2+1); sqrt v (1+1), / correction (1+1),
/// + epsilon (1+1); w -= m / that (3+1); cleared (0+1).
///
/// LAMB: moments as Adam; sqrt, + epsilon (1+1 each); m / that (2+1), + decay w (2+1); two norms (1+0); step
/// (2+1); cleared.
///
/// In 16 bits one more kernel writes the weights from their master copies.
constexpr UpdateWork update_work(Optimizer optimizer, Precision precision, UpdateKernels kernels) {
  if (kernels == UpdateKernels::fused) return {update_bytes(optimizer, precision), 1};
  constexpr std::array items{7, 12, 24, 26}, launches{3, 5, 10, 12};
  const ItemBytes bytes = item_bytes(precision);
  const bool mixed = bytes.master > Bytes{0};
  return {items[std::size_t(optimizer)] * Bytes{4} + (mixed ? bytes.master + bytes.weight : Bytes{0}),
          launches[std::size_t(optimizer)] + (mixed ? 1 : 0)};
}

}  // namespace paradl
