#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "paradl/core/memo.hpp"
#include "paradl/cost/mesh_table.hpp"

namespace paradl {

/// What one layer of a cell takes on one GPU, for one micro-batch, as far as other GPUs do not matter.
struct CellWork {
  Seconds forward, backward;            // arithmetic; recomputation counts as backward
  Seconds recompute;                    // the part of `backward` that is recomputation
  Seconds update;                       // of all weights that a GPU has
  Seconds forward_host, backward_host;  // until the host has launched all kernels
  Bytes gradient;                       // to be summed over the cell's `summed` axes
  // Items on one GPU; activations per sample:
  double weights = 0;
  double kept = 0, masks = 0;  // for the backward pass; masks have one byte an item
  double both = 0;             // input and output; a view has none of its own
};

/// The same with exchanges and with what ZeRO shards.
struct CellCost : CellWork {
  Seconds forward_exchange, backward_exchange;  // activations and their gradients
  Seconds forward_halo, backward_halo;
  Seconds hidden;  // exchanges hidden behind the cell's own arithmetic, such as keys and values around a ring
  Seconds copies;  // sum of copied gradients of keys and values, at the end of an iteration
  Seconds sharded_update;                   // with ZeRO: of a GPU's shard
  double sharded_weights = 0;               // items of that shard
  Bytes forward_traffic, backward_traffic;  // buffers of exchanges, halos and rings

  Seconds forward_pass() const { return forward + forward_exchange + forward_halo; }
  Seconds backward_pass() const { return backward + backward_exchange + backward_halo; }
  Bytes traffic() const { return forward_traffic + backward_traffic; }
  Seconds updated(int zero) const { return zero > 0 ? sharded_update : update; }
};

/// The work of layers with the local shapes on a mesh; times from a profile, the kernel-time model, or the
/// times of whole layers. Threads may share it.
class LocalTimes {
 public:
  explicit LocalTimes(const Setting& setting) : setting_(setting) {}
  /// By cell. Activations count per sample that a GPU has, not per sample of the mini-batch: plans with the
  /// same local shapes share the result.
  const std::vector<CellWork>& work(const Layout& layout, const MeshTable& mesh, const Plan& plan) const;
  /// The times of one cell from a profile or the kernel-time model; nothing if neither knows the layer.
  const std::optional<PassTimes>& find(const Layout& layout, const Cell& cell, const MeshTable& mesh,
                                       double samples) const;

  /// What the work on a layout depends on: twice the samples on twice the GPUs give the same local shapes.
  struct Shapes {
    const Layout* layout;
    double samples;
    std::array<int, 4 * most_axes> parts;  // of axes that split anything but samples
    std::int64_t in_products;              // whether products add to their gradients
    friend bool operator==(const Shapes&, const Shapes&) = default;
  };
  static Shapes shapes_of(const Layout& layout, const MeshTable& mesh, const Plan& plan);

 private:
  struct Key {
    double samples;
    Cut cut;
    std::int64_t shape_class;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key_of(const Layout& layout, const Cell& cell, const MeshTable& mesh, double samples) const;
  std::optional<PassTimes> time(const Layer& layer, const Key& key) const;

  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  const Setting& setting_;
  Memo<Key, std::optional<PassTimes>, Hash> times_;
  Memo<Shapes, std::vector<CellWork>> work_;
};

/// One micro-batch on one GPU, cell by cell. Depends on the layout, the mesh and the samples; on the sums of
/// gradients only for batch-norms whose statistics are synchronised.
struct PassTable {
  PassTable(const Links& links, const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
            const GradientTable& gradients, const Plan& plan,
            std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  double samples;  // of one micro-batch, before any axis splits it
  std::pmr::vector<CellCost> cells;
};

/// The passes of one micro-batch through all layers, one after the other, without waiting for the host. Stops
/// as soon as they take longer than `enough`: the rest may then be missing.
Seconds sum_passes(const Links& links, const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
                   const GradientTable& gradients, const Plan& plan, Seconds enough);

/// Only the computation of these passes.
Seconds sum_computation(const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
                        const Plan& plan);

/// Whether the product for a weight's gradient also adds the gradient of earlier micro-batches (gradient
/// accumulation fusion). All frameworks with sequence parallelism do that.
bool adds_in_products(const Training& training, const Plan& plan);

}  // namespace paradl
