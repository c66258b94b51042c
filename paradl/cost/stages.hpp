#pragma once
#include <span>
#include <vector>

#include "paradl/cost/setting.hpp"
#include "paradl/mesh/partition.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// Stages of a pipeline that hold the same layers and pass on the same tensors: priced once and counted.
struct StageKind {
  struct Share {
    int cell;
    double count;
  };
  /// Consecutive layers: one piece of the network.
  struct Chunk {
    std::vector<Share> cells;
    std::vector<Kept> sent;  // to the next piece; empty for the last
  };
  std::vector<Chunk> chunks;
  std::vector<int> piece;       // of each chunk: which of StagePlan::pieces it is
  std::vector<Share> cells;     // of all chunks, and copies of weights that belong to another stage
  std::vector<Share> borrowed;  // of these, layers that use the weights of a layer on another stage
  int first = 0;             // the foremost stage of this kind: it has most micro-batches in flight
  double count = 0;
};

/// A layout cut into stages.
struct StagePlan {
  int stages = 1, chunks = 1;
  std::vector<StageKind> kinds;
  std::vector<StageKind::Chunk> pieces;  // different ones, in all kinds
  std::vector<int> kind;         // of each stage
  /// Neighbouring stages of the same kind: `count` of them from `first` on. Stages that share weights with
  /// another stand alone.
  struct Run {
    int kind, first, count;
  };
  std::vector<Run> runs;
  int run_of(int stage) const;
  std::vector<int> first_layer;  // of each piece, in the order of the network
  /// Weights that two stages use: each has them and adds up gradients of its own, which they sum.
  struct Tied {
    int cell;         // whose weights they are
    int owner, user;  // stages
  };
  std::vector<Tied> tied;
};

/// The tensors that are alive behind each layer: a stage border there has to send them.
class Crossing {
 public:
  Crossing() = default;
  Crossing(const Layout& layout, const Workload& work);
  std::span<const Kept> behind(int layer) const {
    const std::size_t first = first_[std::size_t(layer)];
    return std::span(tensors_).subspan(first, first_[std::size_t(layer) + 1] - first);
  }

 private:
  std::vector<Kept> tensors_;       // behind layer 0, behind layer 1, ...
  std::vector<std::size_t> first_;  // of each layer; and where the last list ends
};

/// What the borders between stages depend on.
struct StageBorders {
  Pipeline pipeline;
  StageCut cut = StageCut::balanced;
  std::vector<LayerLoad> layer;  // what each layer adds to its stage
  std::vector<double> border;    // what a border behind each of them costs; empty: nothing
  std::span<const int> blocks;   // see repeated_blocks
  Crossing crossing;             // empty: one piece has no borders
};

/// Where the blocks begin that a network repeats: the longest run of layers of the same shapes. Where the
/// last one ends is the last number. Empty: it repeats none.
std::vector<int> repeated_blocks(const Workload& work);

/// Whether each of so many pieces can have the same number of blocks.
bool can_share_blocks(std::span<const int> blocks, int pieces);

/// Cuts a network into stages. Needs pieces <= layers.
StagePlan plan_stages(const Layout& layout, const Workload& work, const StageBorders& borders);

/// The same by the times of whole layers alone.
StagePlan plan_stages(const Layout& layout, const Workload& work, const LayerTimes& times, int stages);

/// All that may be the best way to cut a network into stages: balanced; with as many of the network's blocks
/// in each piece, where these can be dealt out; with the least to pass on; by work alone. Prices tell which.
std::vector<StagePlan> stage_candidates(const Layout& layout, const Workload& work,
                                        const StageBorders& borders);

}  // namespace paradl
