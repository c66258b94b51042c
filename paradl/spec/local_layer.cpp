#include "paradl/spec/local_layer.hpp"

#include <algorithm>

namespace paradl {

std::array<std::int64_t, 2> LocalLayer::arrays() const {
  switch (op) {
    case Op::fc: {
      const std::int64_t each = std::max<std::int64_t>(experts, 1);
      return {each * y_channels * x_channels, bias ? each * y_channels : 0};
    }
    case Op::router:
      return {y_channels * x_channels, 0};
    case Op::attention:  // a table of relative positions
      return {rows * heads, 0};
    case Op::conv:
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
