#pragma once
#include <span>
#include <vector>

#include "paradl/strategy/place.hpp"

namespace paradl {

/// Consecutive layers whose activations are kept, swapped or recomputed together.
struct ChainBlock {
  int first = 0, end = 0;    // layers: from `first` up to, not including, `end`
  int again = 0;             // recomputing layers [first, again) gives all that its backward pass needs
  std::vector<Kept> inputs;  // what it reads from other blocks: needed to recompute it
  std::vector<Kept> skips;   // what it makes for blocks after the next one
};

/// A network cut into blocks. A block's backward pass needs only what the block itself keeps, except for
/// tensors that several blocks need: those are `shared` and stay on the device.
struct BlockChain {
  std::vector<ChainBlock> blocks;
  std::vector<bool> shared;  // by layer: its input is kept for several blocks
};

/// The finest cut, then coarser ones: each joins pairs of blocks of the cut before. Longer recomputed blocks
/// keep fewer inputs, but need more memory at a time.
std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout);

/// The same for a stage of a pipeline, which has some pieces of the network and works on several
/// micro-batches in turn: the blocks of all pieces are repeated for each micro-batch. A chain has at most a
/// few hundred blocks, if a coarser cut allows it.
struct Piece {
  int first, end;  // layers
};
std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout, std::span<const Piece> pieces,
                                    int micro_batches);

}  // namespace paradl
