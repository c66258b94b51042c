#pragma once
#include <optional>
#include <span>

#include "paradl/strategy/place.hpp"

namespace paradl {

/// A long run of equal blocks. Each block reads its own layers, those of the block before it, and layers
/// before the run. Placing is local: if two neighbouring blocks are placed the same way, so are all blocks up
/// to the last one. It is therefore enough to place four blocks of a network with hundreds of layers: the
/// first, two to compare, and the last.
struct Fold {
  int first = 0;    // first layer of the first block
  int period = 1;   // layers in a block
  int repeats = 1;  // number of blocks

  /// Layers of all other blocks.
  int removed() const { return (repeats - 4) * period; }
  /// The first removed layer of the whole network; in the folded network, the first layer after them.
  int seam() const { return first + 3 * period; }
};

/// The run to fold; nothing if it is too short. `blocks`: see repeated_blocks().
std::optional<Fold> find_fold(const Workload& work, std::span<const int> blocks);

/// The network with the first three blocks and the last one.
Workload folded(const Workload& work, const Fold& fold);

/// The layout of the whole network from that of the folded one; nothing if its two middle blocks differ.
std::optional<Layout> unfolded(Layout layout, const Fold& fold);

}  // namespace paradl
