#pragma once
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "paradl/cost/breakdown.hpp"
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
  double weights = 0, sharded = 0;  // all of them, and divided by the GPUs that ZeRO shards them over
  double table = 0;                 // the largest weight tensor
  double kept = 0, masks = 0;       // for the backward pass
  double both = 0, largest = 0;     // inputs and outputs: of all layers, and of the largest
};

/// One micro-batch on one piece of a stage.
struct ChunkSums {
  Seconds forward, backward;  // passes with their exchanges, as the host starts them
  Transfer sent;              // to the next piece
  HeldItems held;
};

/// All that stages of one kind have to do and to hold.
struct KindSums {
  Seconds forward, backward, exchange, halo;  // of one micro-batch
  Seconds arithmetic, recompute;              // of `backward`: without waiting for the host; of that, again
  Seconds forward_passes, backward_passes;    // with copies of layers that belong to another stage
  Seconds update, sharded_update;
  Seconds copies;  // see CellCost
  std::array<Bytes, most_gradient_groups> gradient{};  // by group
  std::array<double, most_gradient_groups> weights{};  // items, by group
  std::array<double, most_gradient_groups> tensors{};  // that are packed one by one, by group
  HeldItems held;

  Seconds passes() const { return forward + backward + exchange + halo; }
  Seconds updated(int zero) const { return zero > 0 ? sharded_update : update; }
};

/// The costs of cells, summed by stage: what changes with the plan of stages and the micro-batch, and not with
/// the schedule or with ZeRO.
struct StageTable {
  StageTable(const Layout& layout, const StagePlan& stages, const MeshTable& mesh, const PassTable& passes,
             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  std::pmr::vector<KindSums> kinds;
  std::pmr::vector<ChunkSums> chunks;  // kind by kind
  Seconds hidden;                      // of one micro-batch, on one GPU: see CellCost
  Bytes traffic;                       // of one micro-batch, in all stages
  std::array<Bytes, most_gradient_groups> gradient{};   // of all layers, by group
  std::array<Bytes, most_gradient_groups> recomputed{};  // of those whose forward pass runs again
  Bytes copied;  // gradients of keys and values that several GPUs have, of all layers

  const ChunkSums& chunk(std::size_t kind, std::size_t c) const {
    return chunks[kind * (chunks.size() / kinds.size()) + c];
  }
};

/// What one GPU holds of these layers.
HeldItems held_items(std::span<const StageKind::Share> shares, const Layout& layout, const MeshTable& mesh,
                     std::span<const CellCost> cells);

/// Micro-batches whose activations a stage keeps, as a multiple of what one of them leaves there.
double in_flight(const StageTable& table, const StagePlan& stages, std::size_t kind, const MeshTable& mesh,
                 const Plan& plan);

/// Bytes of what is held, part by part, with so many micro-batches in flight.
Memory memory_of(const HeldItems& held, const Layout& layout, const MeshTable& mesh, bool sends,
                 const Plan& plan, double micro_batches);

}  // namespace paradl
