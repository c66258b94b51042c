#include "paradl/spec/op.hpp"

#include <algorithm>
#include <array>

namespace paradl {
namespace {

// Passes: how many times |x|+|y| items cross the memory bus. Normalisations read x twice forward, and x and
// dy twice backward; dropout also moves a mask. Products are bound by arithmetic or by one pass, whichever
// takes longer.
// clang-format off
constexpr std::array table{
    //        name           product window per_channel per_position keeps           forward backward
    OpTraits{"conv",         true,   true,  false,      false,       Keeps::x,       1.0,    2.0},
    OpTraits{"fc",           true,   false, false,      true,        Keeps::x,       1.0,    2.0},
    OpTraits{"embedding",    false,  false, false,      true,        Keeps::x,       1.0,    2.0},
    OpTraits{"position",     false,  false, true,       true,        Keeps::nothing, 1.0,    1.0},
    OpTraits{"max-pool",     false,  true,  true,       false,       Keeps::x,       1.0,    1.5},
    OpTraits{"avg-pool",     false,  true,  true,       false,       Keeps::nothing, 1.0,    1.0},
    OpTraits{"global-pool",  false,  false, true,       false,       Keeps::nothing, 1.0,    1.0},
    OpTraits{"batch-norm",   false,  false, true,       true,        Keeps::x,       1.5,    2.5},
    OpTraits{"layer-norm",   false,  false, false,      true,        Keeps::x,       1.5,    2.5},
    OpTraits{"group-norm",   false,  false, false,      false,       Keeps::x,       1.5,    2.5},
    OpTraits{"rms-norm",     false,  false, false,      true,        Keeps::x,       1.5,    2.5},
    OpTraits{"relu",         false,  false, true,       true,        Keeps::y,       1.0,    1.5},
    OpTraits{"gelu",         false,  false, true,       true,        Keeps::x,       1.0,    1.5},
    OpTraits{"silu",         false,  false, true,       true,        Keeps::x,       1.0,    1.5},
    OpTraits{"tanh",         false,  false, true,       true,        Keeps::y,       1.0,    1.5},
    OpTraits{"sigmoid",      false,  false, true,       true,        Keeps::y,       1.0,    1.5},
    OpTraits{"gate",         false,  false, true,       true,        Keeps::x,       1.0,    1.5},
    OpTraits{"dropout",      false,  false, true,       true,        Keeps::mask,    1.0,    1.0},
    OpTraits{"softmax",      false,  false, false,      true,        Keeps::y,       1.0,    1.5},
    OpTraits{"attention",    false,  false, true,       false,       Keeps::x,       1.0,    2.0},
    OpTraits{"add",          false,  false, true,       true,        Keeps::nothing, 1.0,    0.0},
    OpTraits{"concat",       false,  false, true,       true,        Keeps::nothing, 1.0,    1.0},
    OpTraits{"flatten",      false,  false, true,       false,       Keeps::nothing, 0.0,    0.0},
    OpTraits{"tokens",       false,  false, true,       false,       Keeps::nothing, 1.0,    1.0},
    OpTraits{"select",       false,  false, true,       false,       Keeps::nothing, 0.0,    0.0},
    OpTraits{"rotary",       false,  false, true,       true,        Keeps::nothing, 1.0,    1.0},
    OpTraits{"loss",         false,  false, true,       true,        Keeps::x,       1.0,    1.0},
    OpTraits{"part",         false,  false, true,       false,       Keeps::nothing, 0.0,    0.0},
    OpTraits{"router",       false,  false, false,      true,        Keeps::x,       1.0,    2.0},
    OpTraits{"dispatch",     false,  false, true,       true,        Keeps::nothing, 1.0,    1.0},
    OpTraits{"combine",      false,  false, true,       true,        Keeps::x,       1.0,    1.5},
    OpTraits{"upsample",     false,  false, true,       true,        Keeps::nothing, 1.0,    1.0},
};
// clang-format on
static_assert(table.size() == std::size_t(Op::upsample) + 1, "one row for each Op");

}  // namespace

const OpTraits& traits(Op op) { return table[std::size_t(op)]; }

std::optional<Op> find_op(std::string_view name) {
  std::string spelt(name);
  std::ranges::replace(spelt, '_', '-');
  const auto row = std::ranges::find(table, spelt, &OpTraits::name);
  if (row == table.end()) return {};
  return Op(row - table.begin());
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpTraits& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace paradl
