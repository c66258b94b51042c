#pragma once
#include "paradl/mesh/exchange.hpp"

namespace paradl {

/// How a framework carries out the roles of layers, where that is open.
struct Habits {
  Reduction reduction = Reduction::allreduce;
  /// Where channels are split, only convolutions are, the first too, however few its channels: everything
  /// else runs whole on every PE.
  bool convolutions_only = false;
  /// The backward pass of gathering space is an exchange, too: a reduce-scatter, even of gradients that are
  /// the same everywhere.
  bool gathers_reduce = false;

  Habits() = default;
  Habits(Reduction how, bool only = false, bool reduce = false)
      : reduction(how), convolutions_only(only), gathers_reduce(reduce) {}
};

}  // namespace paradl
