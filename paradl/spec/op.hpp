#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paradl {

/// What a layer computes. The table in op.cpp has the properties of each operation that do not depend on its
/// shape.
enum class Op {
  conv,
  fc,
  embedding,
  position,
  max_pool,
  avg_pool,
  global_pool,
  batch_norm,
  layer_norm,
  group_norm,
  rms_norm,
  relu,
  gelu,
  silu,
  tanh,
  sigmoid,
  gate,
  dropout,
  softmax,
  attention,
  add,
  concat,
  flatten,
  tokens,
  select,
  rotary,
  loss,
  part,
  router,
  dispatch,
  combine,
  upsample,
};

/// Which value a layer keeps for its backward pass.
enum class Keeps { nothing, x, y, mask };

struct OpTraits {
  std::string_view name;  // as written in a model file
  bool product;           // a matrix product: filters and channels can be split
  bool window;            // reads a neighbourhood: needs a halo when space is split
  bool per_channel;       // channel c of y needs only channel c of x
  bool per_position;      // position i of y needs only position i of x
  Keeps keeps;
  double forward_passes;  // roughly how often x and y together are read from or written to memory
  double backward_passes;
};

const OpTraits& traits(Op op);

/// The op of that name; `_` and `-` are equivalent.
std::optional<Op> find_op(std::string_view name);
std::vector<std::string> op_names();

constexpr bool is_norm(Op op) { return op >= Op::batch_norm && op <= Op::rms_norm; }
constexpr bool is_activation(Op op) { return op >= Op::relu && op <= Op::sigmoid; }
/// Whether its output is a view of its input, which takes neither time nor memory.
constexpr bool is_view(Op op) { return op == Op::flatten || op == Op::select || op == Op::part; }

}  // namespace paradl
