#pragma once
#include <array>
#include <vector>

#include "paradl/core/short_list.hpp"
#include "paradl/mesh/exchange.hpp"
#include "paradl/mesh/mesh.hpp"
#include "paradl/strategy/roles.hpp"
#include "paradl/strategy/strategy.hpp"

namespace paradl {

/// One collective that a change of placement needs, on one axis, per sample of the whole mini-batch.
struct Exchange {
  Collective operation = Collective::allgather;
  std::uint8_t axis = 0;
  AxisSet divided = 0;  // other axes that cut the tensor (for an all-to-all also `axis`)
  double items = 0;     // of the whole tensor, one sample
};

/// A tensor needs at most this many collectives: a sum and an allgather on each axis.
inline constexpr std::size_t most_exchanges = 2 * most_axes;

using ExchangeList = ShortList<Exchange, most_exchanges>;

/// Items that stay in memory for the backward pass, per sample, with the axes that cut them.
struct Kept {
  double items = 0;
  AxisSet divided = 0;
  int grows = -1;  // its size grows as that of this layer (growth() in strategy/local.hpp); -1: it does not
};

/// Layers with equal shapes and equal placement: priced once and counted.
struct Cell {
  int layer = 0;  // the first of them
  double count = 0;
  AxisSet work = 0;                // axes that split the arithmetic
  AxisSet weights = 0;             // axes that split the weights
  AxisSet summed = 0;              // axes over which weight gradients must be summed
  AxisSet alike = 0;               // axes on which all GPUs have the same weights and gradients
  AxisSet space = 0;               // axes that split its extents
  AxisSet sums_channels = 0;       // axes on which each GPU has an addend of y: role `channel`
  std::int8_t gradients = -1;      // entry of Layout::gradients; -1: nothing to sum
  AxisSet samples = 0;             // axes that split the samples of a batch-norm's statistics
  std::int8_t halo_axis = -1;      // the axis on which it exchanges halos
  std::int8_t ring_axis = -1;      // the axis around which its keys and values travel
  bool recomputed = false;         // its forward pass runs again before its backward pass
  AxisSet halo_divided = 0;        // the other axes that cut x, whose rows it exchanges forward ...
  AxisSet dy_divided = 0;          // ... and those that cut dy, backward
  ExchangeList forward, backward;  // of its output, and of the gradient with respect to it
  std::array<Kept, 3> kept{};      // what the backward pass needs of x, of y, and of the scores of attention
  Kept mask;                       // what it needs in bytes: masks, fp32 logits, sums of flash attention
  Kept x, y;  // input and output as a GPU has them after all exchanges, for the paper's accounting
};

/// A run of equal blocks: the same cells in the same order, `repeats` times.
struct Run {
  int first = 0;   // index into Layout::order
  int period = 1;  // layers in a block
  int repeats = 1;
};

/// A placed workload: its cells and their order. It depends on roles, on rules, and on which sequences are
/// long enough to be split, but not on other sizes of the axes, so that many grids share one layout.
struct Layout {
  std::vector<Cell> cells;
  std::vector<int> order;                   // cell of each layer
  std::vector<Run> runs;                    // covers `order`
  std::vector<std::vector<Role>> role;      // by axis, by layer
  AxisSet sharing = 0;                      // axes that split samples or space of the input
  AxisSet space = 0;                        // axes that split the extents of the input or of some layer
  AxisSet pairs = 0;                        // axes that split heads and words: see AxisRoles
  std::vector<AxisSet> left;                // by layer: the axes that cut its output after its sums
  std::vector<int> last_reader;             // by layer: the last that reads its output; itself if none does
  struct Gradients {
    AxisSet summed, alike;
    friend bool operator==(const Gradients&, const Gradients&) = default;
  };
  std::vector<Gradients> gradients;  // the different groups that sum gradients or statistics
  AxisSet samples = 0, stages = 0;   // axes on which all layers have the role `data`, or `stage`
  std::vector<std::uint8_t> uses;    // by axis: bits of the collectives that change placements on it
  /// Axes that cut the same filters (or channels): the product of their parts must not exceed the number of
  /// filters (channels) of the layer that has fewest.
  struct SharedSplit {
    AxisSet axes;
    LimitRule rule;
    double bound;
    int layer;
  };
  std::vector<SharedSplit> shared_splits;
  /// What the largest recomputed block holds during its backward pass.
  std::vector<Kept> rebuilt, rebuilt_masks;
};

/// Cuts a sequence into runs of equal blocks: from the left, always the run that covers most.
std::vector<Run> find_runs(const std::vector<int>& order);

/// Places every layer on every axis by its role there. A stage axis changes no placement.
Layout place(const Workload& work, const RoleTable& roles, const PlacingRules& rules);
/// The same, with the roles from the strategies of a mesh.
inline Layout place(const Workload& work, const Mesh& mesh, const PlacingRules& rules) {
  return place(work, roles_of(work, mesh, rules), rules);
}

}  // namespace paradl
