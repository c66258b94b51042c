#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/op.hpp"

namespace paradl {

/// Channels and up to three extents of one sample's tensor.
struct Shape {
  double channels = 0;
  std::array<double, 3> extent{1, 1, 1};
  int dims = 0;  // how many extents it has

  double positions() const { return extent[0] * extent[1] * extent[2]; }
  double items() const { return channels * positions(); }
  friend bool operator==(const Shape&, const Shape&) = default;
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
  double heads = 0;    // attention: the smallest number of heads (of keys and values) that can be dealt out
  double query_heads = 0;  // attention: all of them
  double rows = 0;         // of a table: vocabulary, positions, tokens put in front
  double experts = 0;    // of a product: each position goes through one of so many, each with its own weights
  double kv_length = 0;  // attention: positions of keys and values, which may come from another sequence
  double vocabulary = 0;  // of tokens that its table or its logits have
  /// Of the channels that attention reads, or of those that a layer makes for it: keys and values, and in how
  /// many heads. PEs beyond that number have copies of them.
  double kv_share = 0, kv_heads = 0;
  double groups = 1;
  std::array<double, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};
  bool bias = false;            // beside its weights; of a norm: that it has weights
  bool causal = false;          // attention
  bool flash = false;           // attention: scores are not stored
  bool dropout = false;         // attention: of its scores
  int block = -1;               // the repetition of a block that it stands in
  int tied = -1;                // the layer whose weights it uses
  bool auxiliary = false;       // trained, but left out of the published MAC count
  bool wants_whole = false;     // a loss that wants all channels in one place
  std::optional<Seconds> time;  // measured forward + backward, if the model file has it
  std::vector<int> inputs;      // indices of the layers it reads; -1 is the network's input
  int shape_class = 0;          // equal numbers mean equal layers, but for their names and places

  /// |x| as the paper counts it: an addition works in place on one of its inputs.
  double x_buffer() const { return op == Op::add ? x.items() : x_items; }
  double filters() const { return y.channels; }
  double channels() const { return x.channels; }
  bool first() const { return inputs.front() < 0; }
  /// Depthwise and grouped convolutions work group by group.
  bool depthwise() const { return op == Op::conv && groups > 1; }
};

/// Rows of x that a part needs from its neighbours to compute its rows of y (forward).
Halo x_halo(const Layer& layer, int dim);
/// Rows of dL/dy that a part needs to compute its rows of dL/dx (backward).
Halo dy_halo(const Layer& layer, int dim);

}  // namespace paradl
