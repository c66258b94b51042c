#include "paradl/spec/local_layer.hpp"

#include <algorithm>

namespace paradl {

std::array<std::int64_t, 2> LocalLayer::arrays() const {
  switch (traits(op).kind) {
    case OpKind::product: {
      const std::int64_t each = std::max<std::int64_t>(experts, 1);
      return {each * y_channels * x_channels, bias ? each * y_channels : 0};
    }
    case OpKind::router:
      return {y_channels * x_channels, 0};
    case OpKind::attention:  // a table of relative positions
      return {rows * heads, 0};
    case OpKind::convolution:
      return {y_channels * (x_channels / groups) * kernel[0] * kernel[1] * kernel[2], bias ? y_channels : 0};
    case OpKind::embedding:
      return {rows * y_channels, 0};
    case OpKind::position:
    case OpKind::tokens:
      return {rows * x_channels, 0};
    case OpKind::norm:
    case OpKind::group_norm:
      return {bias ? x_channels : 0, bias ? x_channels : 0};
    case OpKind::rms_norm:
      return {bias ? x_channels : 0, 0};
    case OpKind::activation:
    case OpKind::pointwise:
    case OpKind::pool:
    case OpKind::global_pool:
    case OpKind::gate:
    case OpKind::add:
    case OpKind::concat:
    case OpKind::flatten:
    case OpKind::select:
    case OpKind::part:
    case OpKind::upsample:
    case OpKind::dispatch:
    case OpKind::combine:
    case OpKind::loss:
      return {};
  }
  return {};
}

}  // namespace paradl
