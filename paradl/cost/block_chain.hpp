#pragma once
#include <span>
#include <vector>

#include "paradl/strategy/place.hpp"

namespace paradl {

/// Consecutive layers whose activations have one fate when not all of them stay on the device.
struct ChainBlock {
  int first = 0, end = 0;    // layers: from `first` up to, not including, `end`
  int again = 0;             // run so far, its forward pass has made all that its backward pass needs
  std::vector<Kept> inputs;  // what it reads of others: must be there to run it again
  std::vector<Kept> skips;   // what it makes for a block that is not the next
};

/// A network cut into blocks. A block's backward pass needs only what the block itself keeps, but for tensors
/// that several blocks need: those are `shared` and stay where they are.
struct BlockChain {
  std::vector<ChainBlock> blocks;
  std::vector<bool> shared;  // by layer: its input is kept for several blocks
};

/// The finest cut, then ever coarser ones: each joins two blocks of the one before. Recomputing a longer
/// block keeps fewer inputs and needs more room.
std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout);

/// The same for a stage of a pipeline, which has some pieces of the network and works on several
/// micro-batches in turn: the blocks of each piece, as often as there are micro-batches. No more than a few
/// hundred blocks where a coarser cut allows it.
struct Piece {
  int first, end;  // layers
};
std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout, std::span<const Piece> pieces,
                                    int micro_batches);

}  // namespace paradl
