#pragma once
#include <array>
#include <compare>
#include <cstdint>

#include "paradl/spec/op.hpp"

namespace paradl {

/// A layer as one GPU runs it: the shapes that a kernel library gets. Equal local layers take the same time.
struct LocalLayer {
  Op op = Op::relu;
  int dims = 0;  // how many extents there are; the others are 1
  std::int64_t samples = 1;
  std::int64_t x_channels = 1, y_channels = 1;  // concat: x of all inputs together
  std::array<std::int64_t, 3> x_extent{1, 1, 1}, y_extent{1, 1, 1};
  // Of convolution and pooling. `padding` is before the first row; whatever y needs beyond the last row is
  // padding, too. If space is split, x includes its halos and there is no padding.
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};
  std::int64_t groups = 1;               // of a convolution or a group norm
  std::int64_t heads = 0, kv_heads = 0;  // attention: of queries; of keys and of values
  std::int64_t rows = 0;                 // of a table: vocabulary, positions, extra tokens
  std::int64_t experts = 0;    // of a product: number with weights of their own; 0: not an expert layer
  std::int64_t kv_length = 0;  // attention: positions of keys and values; 0: as many as x has
  std::int64_t weights = 0;    // total number of weights to update
  int inputs = 1;              // of add and concat
  bool bias = false;           // of a norm: whether it has weights at all
  bool causal = false;         // attention
  bool flash = false;          // attention: scores are not stored

  std::int64_t x_positions() const { return x_extent[0] * x_extent[1] * x_extent[2]; }
  std::int64_t y_positions() const { return y_extent[0] * y_extent[1] * y_extent[2]; }
  std::int64_t x_items() const {  // of all inputs together
    return samples * x_positions() * x_channels * (op == Op::add ? inputs : 1);
  }
  std::int64_t y_items() const { return samples * y_positions() * y_channels; }
  /// Sizes of its two weight tensors, tied or not: a table, filters or factors; and biases or addends.
  std::array<std::int64_t, 2> arrays() const;
  friend auto operator<=>(const LocalLayer&, const LocalLayer&) = default;
};

}  // namespace paradl
