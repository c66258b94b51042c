#include "paradl/spec/op.hpp"

#include <algorithm>
#include <array>

namespace paradl {
namespace {

using enum OpKind;
using enum Keeps;

// What memory-bound kernels read and write: what the operation needs or, if libraries do more, the number
// that fits Aceso's operator times on V100 (marked A). For the marked ones we have no other data.
constexpr MemoryPasses none{};
constexpr MemoryPasses once{{.x = 1, .y = 1}, {.x = 1, .y = 1}};
constexpr MemoryPasses twice{{.y = 2}, {.y = 2}};
constexpr MemoryPasses indexed{{.x = 1, .y = 1, .y_bytes = 8},  // including the index of each maximum
                               {.x = 1.5, .y = 1.5, .y_bytes = 12}};
constexpr MemoryPasses of_norm{{.y = 3}, {.y = 5}};  // statistics, then values; backward the same with dy
constexpr MemoryPasses of_row_norm{{.y = 3}, {.y = 11}};  // A: also sums over rows for gradients of weights
constexpr MemoryPasses fused_norm{{.y = 2}, {.y = 4}};    // reads its rows once
constexpr MemoryPasses of_activation{{.y = 2}, {.y = 3}};
constexpr MemoryPasses of_gelu{{.y = 2.25}, {.y = 4.5}};       // A
constexpr MemoryPasses of_softmax{{.y = 1.9}, {.y = 2.5}};     // A
constexpr MemoryPasses of_dropout{{.y = 2.5}, {.y = 2.5}};     // a mask of one byte
constexpr MemoryPasses fused_dropout{{.y = 0.5}, {.y = 2.5}};  // adds only its mask to an addition
constexpr MemoryPasses of_gate{{.x = 1, .y = 1}, {.x = 2, .y = 1}};
constexpr MemoryPasses of_sum{{.x = 1, .y = 1}, {}};  // the gradient is that of y, for all inputs
constexpr MemoryPasses of_lookup{{.y = 2}, {}};       // the gradient of its table is not one of x
constexpr MemoryPasses of_loss{{.x_bytes = 47}, {.x_bytes = 20}};  // of Megatron-LM, fitted on A100

constexpr bool yes = true, no = false;

}  // namespace

// The columns after `keeps` are passes: how many times |x|+|y| items cross the memory bus. Normalisations
// read x twice forward, and x and dy twice backward; dropout also moves a mask. Products are bound by
// arithmetic or by one pass, whichever takes longer.
// clang-format off
constexpr OpTable op_table{{
    // name, kind, product, window, per_channel, per_position, keeps, passes forward and backward, moves, fused
    {"conv",        convolution, yes, yes, no,  no,  x,       1.0, 2.0, none},
    {"fc",          product,     yes, no,  no,  yes, x,       1.0, 2.0, none},
    {"embedding",   embedding,   no,  no,  no,  yes, x,       1.0, 2.0, of_lookup},
    {"position",    position,    no,  no,  yes, yes, nothing, 1.0, 1.0, twice},
    {"max-pool",    pool,        no,  yes, yes, no,  x,       1.0, 1.5, indexed},
    {"avg-pool",    pool,        no,  yes, yes, no,  nothing, 1.0, 1.0, once},
    {"global-pool", global_pool, no,  no,  yes, no,  nothing, 1.0, 1.0, once},
    {"batch-norm",  norm,        no,  no,  yes, yes, x,       1.5, 2.5, of_norm},
    {"layer-norm",  norm,        no,  no,  no,  yes, x,       1.5, 2.5, of_row_norm, fused_norm},
    {"group-norm",  group_norm,  no,  no,  no,  no,  x,       1.5, 2.5, of_norm},
    {"rms-norm",    rms_norm,    no,  no,  no,  yes, x,       1.5, 2.5, of_row_norm, fused_norm},
    {"relu",        activation,  no,  no,  yes, yes, y,       1.0, 1.5, of_activation},
    {"gelu",        activation,  no,  no,  yes, yes, x,       1.0, 1.5, of_gelu},
    {"silu",        activation,  no,  no,  yes, yes, x,       1.0, 1.5, of_activation},
    {"tanh",        activation,  no,  no,  yes, yes, y,       1.0, 1.5, of_activation},
    {"sigmoid",     activation,  no,  no,  yes, yes, y,       1.0, 1.5, of_activation},
    {"gate",        gate,        no,  no,  yes, yes, x,       1.0, 1.5, of_gate},
    {"dropout",     pointwise,   no,  no,  yes, yes, mask,    1.0, 1.0, of_dropout, fused_dropout},
    {"softmax",     pointwise,   no,  no,  no,  yes, y,       1.0, 1.5, of_softmax},
    {"attention",   attention,   no,  no,  yes, no,  x,       1.0, 2.0, none},
    {"add",         add,         no,  no,  yes, yes, nothing, 1.0, 0.0, of_sum},
    {"concat",      concat,      no,  no,  yes, yes, nothing, 1.0, 1.0, once},
    {"flatten",     flatten,     no,  no,  yes, no,  nothing, 0.0, 0.0, none},
    {"tokens",      tokens,      no,  no,  yes, no,  nothing, 1.0, 1.0, once},
    {"select",      select,      no,  no,  yes, no,  nothing, 0.0, 0.0, none},
    {"rotary",      pointwise,   no,  no,  yes, yes, nothing, 1.0, 1.0, twice},
    {"loss",        loss,        no,  no,  yes, yes, x,       1.0, 1.0, of_loss},
    {"part",        part,        no,  no,  yes, no,  nothing, 0.0, 0.0, none},
    {"router",      router,      no,  no,  no,  yes, x,       1.0, 2.0, none},
    {"dispatch",    dispatch,    no,  no,  yes, yes, nothing, 1.0, 1.0, once},
    {"combine",     combine,     no,  no,  yes, yes, x,       1.0, 1.5, once},
    {"upsample",    upsample,    no,  no,  yes, yes, nothing, 1.0, 1.0, once},
}};
// clang-format on
static_assert(!op_table.back().name.empty(), "one row for each Op");

bool is_norm(Op op) {
  const OpKind kind = traits(op).kind;
  return kind == norm || kind == rms_norm || kind == group_norm;
}

bool is_activation(Op op) { return traits(op).kind == activation; }

std::optional<Op> find_op(std::string_view name) {
  std::string spelt(name);
  std::ranges::replace(spelt, '_', '-');
  const auto row = std::ranges::find(op_table, spelt, &OpTraits::name);
  if (row == op_table.end()) return {};
  return Op(row - op_table.begin());
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpTraits& row : op_table) names.emplace_back(row.name);
  return names;
}

}  // namespace paradl
