#include "paradl/spec/local_layer.hpp"

namespace paradl {

std::array<std::int64_t, 2> LocalLayer::arrays() const {
  switch (op) {
    case Op::conv:
    case Op::fc:
      return {y_channels * (x_channels / groups) * kernel[0] * kernel[1] * kernel[2], bias ? y_channels : 0};
    case Op::embedding:
      return {rows * y_channels, 0};
    case Op::position:
    case Op::tokens:
      return {rows * x_channels, 0};
    case Op::rms_norm:
      return {bias ? x_channels : 0, 0};
    default:
      return is_norm(op) && bias ? std::array{x_channels, x_channels} : std::array<std::int64_t, 2>{};
  }
}

}  // namespace paradl
