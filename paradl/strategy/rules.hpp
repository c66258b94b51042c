#pragma once
#include <array>
#include <compare>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/mesh/exchange.hpp"

namespace paradl {

/// What the backward pass recomputes instead of keeping it: nothing; the scores of attention; all activations
/// of a block.
enum class Recompute { none, selective, full };
inline constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};
static_assert(names_every(Recompute::full, recompute_names), "name every Recompute");

/// How a framework places tensors, in addition to the roles of layers.
struct PlacingRules {
  Reduction reduction = Reduction::allreduce;  // of sums over filters or channels
  /// Between the pairs of products of `tensor`, each GPU keeps its part of the sequence: a sum is scattered
  /// over positions, and gathered before the next product.
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int recomputed_blocks = -1;  // number of recomputed blocks, evenly spread; -1: all
  /// Split the channels of convolutions only, including the first one, however few channels it has. All other
  /// layers run whole on every GPU.
  bool convolutions_only = false;
  /// The backward pass of an allgather of spatial parts is a reduce-scatter, even if all GPUs have the same
  /// gradient.
  bool gathers_reduce = false;
  friend auto operator<=>(const PlacingRules&, const PlacingRules&) = default;
};

}  // namespace paradl
