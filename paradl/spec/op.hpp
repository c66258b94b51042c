#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paradl {

/// What a layer computes. The table in op.cpp has one row for each operation.
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
inline constexpr std::size_t op_count = std::size_t(Op::upsample) + 1;

/// Which keys a layer has in a model file, and how its output, weights and kernels follow from its input.
/// Operations of one kind differ only in their rows.
enum class OpKind {
  activation,
  pointwise,  // not an activation, but also without weights and with y of the shape of x
  norm,       // a factor and an addend for each channel
  rms_norm,   // a factor for each channel
  group_norm,
  pool,
  global_pool,
  convolution,
  product,
  router,
  embedding,
  position,
  tokens,
  attention,
  gate,
  add,
  concat,
  flatten,
  select,
  part,
  upsample,
  dispatch,
  combine,
  loss,
};

/// Which value a layer keeps for its backward pass.
enum class Keeps { nothing, x, y, mask };

/// What one pass of a kernel reads and writes: multiples of x and of y, and bytes for each of their items
/// that do not depend on the precision.
struct Traffic {
  double x = 0, y = 0, x_bytes = 0, y_bytes = 0;
};

struct MemoryPasses {
  Traffic forward, backward;
};

struct OpTraits {
  std::string_view name;  // as written in a model file
  OpKind kind;
  bool product;       // a matrix product: filters and channels can be split
  bool window;        // reads a neighbourhood: needs a halo when space is split
  bool per_channel;   // channel c of y needs only channel c of x
  bool per_position;  // position i of y needs only position i of x
  Keeps keeps;
  double forward_passes;  // roughly how often x and y together are read from or written to memory
  double backward_passes;
  MemoryPasses moves;                      // of its kernels, if they are bound by memory
  std::optional<MemoryPasses> fused = {};  // of fused kernels, if they move less
};

using OpTable = std::array<OpTraits, op_count>;
extern const OpTable op_table;  // one row for each Op

inline const OpTraits& traits(Op op) { return op_table[std::size_t(op)]; }

/// The op of that name; `_` and `-` are equivalent.
std::optional<Op> find_op(std::string_view name);
std::vector<std::string> op_names();

bool is_norm(Op op);
bool is_activation(Op op);
/// Whether its output is a view of its input, which takes neither time nor memory.
inline bool is_view(Op op) { return traits(op).forward_passes == 0; }

}  // namespace paradl
