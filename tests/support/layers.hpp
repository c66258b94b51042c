#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "paradl/spec/local_layer.hpp"

// Layers in one line each, for tests of back ends.

namespace paradl::test {

using Extents = std::vector<std::int64_t>;

/// Equal along all extents. `behind`: extra windows, compared with equal padding on both sides.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, groups = 1, behind = 0;
  bool bias = true;
};

/// A layer that keeps the shape of its input.
inline LocalLayer same(Op op, std::int64_t samples, std::int64_t channels, const Extents& x = {}) {
  LocalLayer l{.op = op, .dims = int(x.size()), .samples = samples, .x_channels = channels};
  l.y_channels = channels;
  for (std::size_t d = 0; d < x.size(); ++d) l.x_extent[d] = l.y_extent[d] = x[d];
  l.bias = is_norm(op);
  return l;
}

inline LocalLayer windowed(Op op, std::int64_t samples, std::int64_t channels, const Extents& x,
                           std::int64_t filters, const Window& w) {
  LocalLayer l = same(op, samples, channels, x);
  l.y_channels = filters;
  l.groups = w.groups;
  l.bias = op == Op::conv && w.bias;
  for (std::size_t d = 0; d < x.size(); ++d) {
    l.kernel[d] = w.kernel;
    l.stride[d] = w.stride;
    l.padding[d] = w.padding;
    l.dilation[d] = w.dilation;
    l.y_extent[d] = (x[d] + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1 + w.behind;
  }
  return l;
}

inline LocalLayer conv(std::int64_t samples, std::int64_t channels, const Extents& x, std::int64_t filters,
                       const Window& w) {
  return windowed(Op::conv, samples, channels, x, filters, w);
}
inline LocalLayer pool(Op op, std::int64_t samples, std::int64_t channels, const Extents& x,
                       const Window& w) {
  return windowed(op, samples, channels, x, channels, w);
}

inline LocalLayer fc(std::int64_t samples, std::int64_t channels, std::int64_t filters, const Extents& x = {},
                     bool bias = true) {
  LocalLayer l = same(Op::fc, samples, channels, x);
  l.y_channels = filters;
  l.bias = bias;
  return l;
}

inline LocalLayer with_groups(LocalLayer l, std::int64_t groups) {
  l.groups = groups;
  return l;
}
inline LocalLayer without_weights(LocalLayer l) {
  l.bias = false;
  return l;
}
inline LocalLayer with_inputs(LocalLayer l, int inputs) {
  l.inputs = inputs;
  return l;
}

inline LocalLayer attention(std::int64_t samples, std::int64_t length, std::int64_t heads,
                            std::int64_t kv_heads, std::int64_t size, bool causal = false) {
  LocalLayer l = same(Op::attention, samples, (heads + 2 * kv_heads) * size, {length});
  l.y_channels = heads * size;
  l.heads = heads;
  l.kv_heads = kv_heads;
  l.causal = causal;
  return l;
}

inline LocalLayer embedding(std::int64_t samples, std::int64_t length, std::int64_t rows,
                            std::int64_t filters) {
  LocalLayer l = same(Op::embedding, samples, 1, {length});
  l.y_channels = filters;
  l.rows = rows;
  return l;
}
inline LocalLayer position(std::int64_t samples, const Extents& x, std::int64_t channels, std::int64_t rows) {
  LocalLayer l = same(Op::position, samples, channels, x);
  l.rows = rows;
  return l;
}
inline LocalLayer tokens(std::int64_t samples, const Extents& x, std::int64_t channels, std::int64_t rows) {
  LocalLayer l = same(Op::tokens, samples, channels, x);
  l.rows = rows;
  l.y_extent = {l.x_positions() + rows, 1, 1};
  return l;
}
/// Global pooling, select and flatten leave no extents.
inline LocalLayer to_point(Op op, std::int64_t samples, std::int64_t channels, const Extents& x) {
  LocalLayer l = same(op, samples, channels, x);
  if (op == Op::flatten) l.y_channels = channels * l.x_positions();
  l.y_extent = {1, 1, 1};
  return l;
}
inline LocalLayer gate(std::int64_t samples, std::int64_t channels, const Extents& x) {
  LocalLayer l = same(Op::gate, samples, channels, x);
  l.y_channels = channels / 2;
  return l;
}

/// Items of LayerData::w[0] and w[1].
inline std::array<std::int64_t, 2> weight_items(const LocalLayer& l) {
  switch (l.op) {
    case Op::conv:
    case Op::fc:
      return {l.y_channels * (l.x_channels / l.groups) * l.kernel[0] * l.kernel[1] * l.kernel[2],
              l.bias ? l.y_channels : 0};
    case Op::embedding:
      return {l.rows * l.y_channels, 0};
    case Op::position:
    case Op::tokens:
      return {l.rows * l.x_channels, 0};
    default:
      if (!is_norm(l.op) || !l.bias) return {0, 0};
      return {l.x_channels, l.op == Op::rms_norm ? 0 : l.x_channels};
  }
}

}  // namespace paradl::test
