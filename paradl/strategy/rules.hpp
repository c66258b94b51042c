#pragma once
#include <array>
#include <compare>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/mesh/exchange.hpp"

namespace paradl {

/// What is computed once more in the backward pass instead of being kept: nothing; the scores of attention;
/// all that a block makes.
enum class Recompute { none, selective, full };
inline constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};
static_assert(names_every(Recompute::full, recompute_names), "name every Recompute");

/// How a framework lays out tensors, besides the roles of layers.
struct PlacingRules {
  Reduction reduction = Reduction::allreduce;  // what ends a sum over filters or channels
  /// Between the pairs of products of `tensor`, each PE keeps its part of the sequence: a sum is scattered
  /// over positions, and gathered before the next product.
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int recomputed_blocks = -1;  // so many of them, evenly spread; -1: all
  /// Where channels are split, only convolutions are, the first too, however few its channels: everything
  /// else runs whole on every PE.
  bool convolutions_only = false;
  /// The backward pass of gathering space is an exchange, too: a reduce-scatter, even of gradients that are
  /// the same everywhere.
  bool gathers_reduce = false;
  friend auto operator<=>(const PlacingRules&, const PlacingRules&) = default;
};

}  // namespace paradl
