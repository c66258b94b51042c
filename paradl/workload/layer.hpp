#pragma once
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/op.hpp"

namespace paradl {

/// The channels and up to three extents of one sample's tensor.
struct Shape {
  double channels = 0;
  std::array<double, 3> extent{1, 1, 1};
  int dims = 0;  // number of extents

  double positions() const { return extent[0] * extent[1] * extent[2]; }
  double items() const { return channels * positions(); }
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

/// Rows that a part needs from its neighbours before and after it, along one extent.
struct Halo {
  double before = 0, after = 0;
  double sum() const { return before + after; }
};

/// One layer with all its sizes, per sample. |x|, |y|, |w| are counts of items, as in the paper's Table II.
struct Layer {
  std::string name;
  Op op = Op::relu;
  Shape x, y;          // x: the first input; `concat` and `add` have more
  double x_items = 0;  // of all inputs together
  double weights = 0;  // |w|, biases included; zero if tied to another layer's
  double macs = 0;     // multiply-adds, forward
  double scores = 0;   // attention: items of the score matrices
  double heads = 0;    // attention: the number of key and value heads, which limits a split without copies
  double query_heads = 0;  // attention: the number of query heads
  double rows = 0;         // of a table: vocabulary, positions, extra tokens
  double experts = 0;    // of a product: their number, each with its own weights; a position uses one of them
  double kv_length = 0;  // attention: positions of keys and values, which may come from another sequence
  double vocabulary = 0;  // tokens in its table or logits
  /// The channels of keys and values among those that attention reads or that a layer computes for it, and
  /// the number of their heads. If there are more GPUs than heads, GPUs hold copies.
  double kv_share = 0, kv_heads = 0;
  double groups = 1;
  std::array<double, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};
  bool bias = false;            // of a norm: whether it has weights at all
  bool causal = false;          // attention
  bool flash = false;           // attention: scores are not stored
  bool dropout = false;         // attention: of its scores
  int block = -1;               // the block instance that contains it
  int tied = -1;                // the layer whose weights it uses
  bool auxiliary = false;       // trained, but left out of the published MAC count
  bool wants_whole = false;     // a loss that needs all channels on one GPU
  std::optional<Seconds> time;  // measured forward + backward, if the model file has it
  std::vector<int> inputs;      // indices of the layers it reads; -1 is the network's input
  int shape_class = 0;          // equal for layers that differ only in name and place

  /// |x| as the paper counts it: an addition overwrites one of its inputs.
  double x_buffer() const { return op == Op::add ? x.items() : x_items; }
  double filters() const { return y.channels; }
  double channels() const { return x.channels; }
  bool first() const { return inputs.front() < 0; }
  /// Depthwise and grouped convolutions work group by group.
  bool depthwise() const { return op == Op::conv && groups > 1; }
  friend auto operator<=>(const Layer&, const Layer&) = default;
};

/// Rows of x that a part needs from its neighbours to compute its rows of y (forward).
Halo x_halo(const Layer& layer, int dim);
/// Rows of dL/dy that a part needs to compute its rows of dL/dx (backward).
Halo dy_halo(const Layer& layer, int dim);

}  // namespace paradl
