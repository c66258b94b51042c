#pragma once
#include <optional>
#include <span>

#include "paradl/strategy/place.hpp"

namespace paradl {

/// A long run of equal blocks of a network, each of which reads its own layers, those of the block before it,
/// and layers in front of the run. Placing is local: if two neighbouring blocks are placed the same way, so are
/// all blocks up to the last one. A network of hundreds of layers is therefore placed with four of its blocks.
struct Fold {
  int first = 0;    // layer with which the first block begins
  int period = 1;   // layers of a block
  int repeats = 1;  // blocks

  int removed() const { return (repeats - 4) * period; }
  /// The layer of the short network behind which blocks are missing.
  int seam() const { return first + 3 * period; }
};

/// The run to fold; nothing if it is too short. `blocks`: see repeated_blocks.
std::optional<Fold> find_fold(const Workload& work, std::span<const int> blocks);

/// The network with the first three blocks and the last one.
Workload folded(const Workload& work, const Fold& fold);

/// The layout of the whole network from that of the folded one; nothing if its blocks differ.
std::optional<Layout> unfolded(Layout layout, const Fold& fold);

}  // namespace paradl
