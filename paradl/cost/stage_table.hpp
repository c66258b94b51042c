#pragma once
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "paradl/cost/cost.hpp"
#include "paradl/cost/pass_table.hpp"
#include "paradl/cost/stages.hpp"

namespace paradl {

/// What a stage sends to the next one for one micro-batch.
struct Transfer {
  Bytes bytes;
  Seconds time;
};

/// Whether the GPUs of a `tensor` group, which all have the same output, each send only a part of it and
/// gather it on the next stage. Frameworks do so if the links between stages are slower than those inside the
/// group.
bool scatters(const StageKind::Chunk& chunk, const MeshTable& mesh);
Transfer transfer(const StageKind::Chunk& chunk, const MeshTable& mesh, double samples);

/// Items of some layers on one GPU; activations per sample.
struct HeldItems {
  double weights = 0, sharded = 0;  // all weights, and their shards with ZeRO
  double table = 0;                 // the largest weight tensor
  double kept = 0, masks = 0;       // for the backward pass
  double both = 0, largest = 0;     // inputs and outputs: of all layers, and of the largest layer
};

/// The work and memory of some layers on one GPU: for one micro-batch, and at the end of an iteration.
struct LayerSums {
  Seconds forward, backward, exchange, halo;  // parts of the passes; `backward` includes recomputation
  Seconds arithmetic, recompute;              // `backward` without waiting for the host; recomputation in it
  Seconds forward_passes, backward_passes;    // with their exchanges, without waiting for the host
  Seconds update, sharded_update;
  Seconds copies;  // see CellCost
  std::array<Bytes, most_gradient_groups> gradient{};  // by group
  std::array<double, most_gradient_groups> weights{};  // items, by group
  std::array<double, most_gradient_groups> tensors{};  // tensors that are packed one by one, by group
  HeldItems held;

  Seconds passes() const { return forward + backward + exchange + halo; }
  Seconds updated(int zero) const { return zero > 0 ? sharded_update : update; }
  /// The share of the backward pass that is recomputation.
  double recomputed_share() const { return recompute > Seconds{} ? recompute / arithmetic : 0; }
};

/// One piece of the network: a chunk of a stage.
struct PieceSums : LayerSums {
  Seconds forward_pass, backward_pass;  // with exchanges and waiting for the host
  Seconds hidden;                       // see CellCost
  Bytes traffic;
  Transfer sent;  // to the next piece
};

/// The costs of cells, summed by stage. Depends on the cut into stages and on the micro-batch, not on the
/// schedule or on ZeRO.
struct StageTable {
  StageTable(const Layout& layout, const StagePlan& stages, const MeshTable& mesh, const PassTable& passes,
             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The kind of stage whose passes take longest: the cost shows its passes.
  std::size_t busiest() const;
  /// The share of the backward pass that the cost shows as recomputation: that of the stage whose passes take
  /// longest.
  double recomputed_share() const;

  std::pmr::vector<LayerSums> kinds;
  std::pmr::vector<PieceSums> pieces;  // as in StagePlan
  Seconds hidden;                      // of one micro-batch, on one GPU: see CellCost
  Bytes traffic;                       // of one micro-batch, on all stages
  std::array<Bytes, most_gradient_groups> gradient{};   // of all layers, by group
  std::array<Bytes, most_gradient_groups> recomputed{};  // of recomputed layers, by group
  Bytes copied;  // copied gradients of keys and values, of all layers
};

/// The items on one GPU if a stage had only one layer of this cell.
HeldItems held_alone(int cell, const Layout& layout, const PassTable& passes, const MeshTable& mesh);

/// The activations that a stage keeps, as a multiple of those of one micro-batch.
double in_flight(const StageTable& table, const StageKind& kind, int stages, const MeshTable& mesh,
                 const Plan& plan);

/// The memory for these items, part by part, with `micro_batches` micro-batches in flight.
Memory memory_of(const HeldItems& held, const Layout& layout, const MeshTable& mesh, bool sends,
                 const Plan& plan, double micro_batches);

}  // namespace paradl
