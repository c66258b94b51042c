#pragma once
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "paradl/cost/cost.hpp"
#include "paradl/cost/pass_table.hpp"
#include "paradl/cost/stages.hpp"

namespace paradl {

/// What a stage passes on to the next for one micro-batch.
struct Transfer {
  Bytes bytes;
  Seconds time;
};

/// GPUs of `tensor` send a part each of what they all have, where that passes slower links than they have among
/// themselves, and gather it there.
bool scatters(const StageKind::Chunk& chunk, const MeshTable& mesh);
Transfer transfer(const StageKind::Chunk& chunk, const MeshTable& mesh, double samples);

/// Items that one GPU holds of some layers, per sample where they are activations.
struct HeldItems {
  double weights = 0, sharded = 0;  // all of them, and the shards that ZeRO leaves
  double table = 0;                 // the largest weight tensor
  double kept = 0, masks = 0;       // for the backward pass
  double both = 0, largest = 0;     // inputs and outputs: of all layers, and of the largest
};

/// What one GPU has to do and to hold for some layers: of one micro-batch, and at the end of an iteration.
struct LayerSums {
  Seconds forward, backward, exchange, halo;  // passes by what they do; `backward` has what runs again
  Seconds arithmetic, recompute;              // of `backward`: without waiting for the host; of that, again
  Seconds forward_passes, backward_passes;    // with their exchanges, without waiting
  Seconds update, sharded_update;
  Seconds copies;  // see CellCost
  std::array<Bytes, most_gradient_groups> gradient{};  // by group
  std::array<double, most_gradient_groups> weights{};  // items, by group
  std::array<double, most_gradient_groups> tensors{};  // that are packed one by one, by group
  HeldItems held;

  Seconds passes() const { return forward + backward + exchange + halo; }
  Seconds updated(int zero) const { return zero > 0 ? sharded_update : update; }
};

/// One piece of the network: a chunk of a stage.
struct PieceSums : LayerSums {
  Seconds forward_pass, backward_pass;  // with exchanges, as the host starts them
  Transfer sent;                        // to the next piece
};

/// The costs of cells, summed by stage: what changes with the plan of stages and the micro-batch, and not with
/// the schedule or with ZeRO.
struct StageTable {
  StageTable(const Layout& layout, const StagePlan& stages, const MeshTable& mesh, const PassTable& passes,
             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  std::pmr::vector<LayerSums> kinds;
  std::pmr::vector<PieceSums> pieces;  // as in StagePlan
  Seconds hidden;                      // of one micro-batch, on one GPU: see CellCost
  Bytes traffic;                       // of one micro-batch, in all stages
  std::array<Bytes, most_gradient_groups> gradient{};   // of all layers, by group
  std::array<Bytes, most_gradient_groups> recomputed{};  // of those whose forward pass runs again
  Bytes copied;  // gradients of keys and values that several GPUs have, of all layers
};

/// What one GPU would hold of one layer of a cell alone.
HeldItems held_alone(int cell, const Layout& layout, const PassTable& passes, const MeshTable& mesh);

/// Micro-batches whose activations a stage keeps, as a multiple of what one of them leaves there.
double in_flight(const StageTable& table, const StageKind& kind, int stages, const MeshTable& mesh,
                 const Plan& plan);

/// Bytes of what is held, part by part, with so many micro-batches in flight.
Memory memory_of(const HeldItems& held, const Layout& layout, const MeshTable& mesh, bool sends,
                 const Plan& plan, double micro_batches);

}  // namespace paradl
