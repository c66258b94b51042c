#pragma once
#include <span>
#include <vector>

#include "paradl/cost/setting.hpp"
#include "paradl/mesh/partition.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// Stages of a pipeline with the same cells and the same messages to the next stage: priced once and counted.
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
  std::vector<int> piece;       // by chunk: its index in StagePlan::pieces
  std::vector<Share> cells;     // of all chunks, and copies of weights that belong to another stage
  std::vector<Share> borrowed;  // those of `cells` that use the weights of a layer on another stage
  int first = 0;             // the first stage of this kind: it has most micro-batches in flight
  double count = 0;
};

/// A layout cut into stages.
struct StagePlan {
  int stages = 1, chunks = 1;
  std::vector<StageKind> kinds;
  std::vector<StageKind::Chunk> pieces;  // the different pieces of all kinds
  std::vector<int> kind;         // of each stage
  /// Neighbouring stages of the same kind: `count` of them from `first` on. A stage that shares weights with
  /// another one is a run of its own.
  struct Run {
    int kind, first, count;
  };
  std::vector<Run> runs;
  int run_of(int stage) const;
  std::vector<int> first_layer;  // of each piece, in the order of the network
  /// Weights that two stages use: each has a copy and its own gradients, and the stages sum these.
  struct Tied {
    int cell;         // of the layer that owns the weights
    int owner, user;  // stages
  };
  std::vector<Tied> tied;
};

/// The tensors that are still needed after each layer: a stage border there must send them.
class Crossing {
 public:
  Crossing() = default;
  Crossing(const Layout& layout, const Workload& work);
  std::span<const Kept> behind(int layer) const {
    const std::size_t first = first_[std::size_t(layer)];
    return std::span(tensors_).subspan(first, first_[std::size_t(layer) + 1] - first);
  }

 private:
  std::vector<Kept> tensors_;       // after layer 0, after layer 1, ...
  std::vector<std::size_t> first_;  // where each of these lists begins, and the end of the last one
};

/// What the borders between stages depend on.
struct StageBorders {
  Pipeline pipeline;
  StageCut cut = StageCut::balanced;
  std::vector<LayerLoad> layer;  // what each layer adds to its stage
  std::vector<double> border;    // the cost of a border after each layer; empty: nothing
  std::span<const int> blocks;   // see repeated_blocks
  Crossing crossing;             // empty: one piece has no borders
};

/// The first layer of each repeated block of a network, and the end of the last one. It is the run of equal
/// blocks, layer by layer of the same shapes, that covers most layers. Empty if the network repeats none.
std::vector<int> repeated_blocks(const Workload& work);

/// Whether `pieces` pieces can each have the same number of blocks.
bool can_share_blocks(std::span<const int> blocks, int pieces);

/// Cuts a network into stages. Needs pieces <= layers.
StagePlan plan_stages(const Layout& layout, const Workload& work, const StageBorders& borders);

/// The same, only by the times of whole layers.
StagePlan plan_stages(const Layout& layout, const Workload& work, const LayerTimes& times, int stages);

/// The cuts into stages that could be the best: balanced; the same number of repeated blocks in each piece,
/// if they split evenly; with the cheapest transfers; balanced by work only. The caller prices them all.
std::vector<StagePlan> stage_candidates(const Layout& layout, const Workload& work,
                                        const StageBorders& borders);

}  // namespace paradl
