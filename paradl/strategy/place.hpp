#pragma once
#include <array>
#include <vector>

#include "paradl/core/short_list.hpp"
#include "paradl/mesh/exchange.hpp"
#include "paradl/mesh/mesh.hpp"
#include "paradl/strategy/roles.hpp"
#include "paradl/strategy/strategy.hpp"

namespace paradl {

/// One collective that a change of placement asks for, on one axis, per sample of the whole mini-batch.
struct Exchange {
  Collective operation = Collective::allgather;
  std::uint8_t axis = 0;
  AxisSet divided = 0;  // axes that cut the tensor besides: each group handles its part
  double items = 0;     // of the whole tensor, one sample
};

/// At most this many collectives belong to one tensor: a sum and a gathering on each axis.
inline constexpr std::size_t most_exchanges = 2 * most_axes;

using ExchangeList = ShortList<Exchange, most_exchanges>;

/// Items that stay in memory for the backward pass, per sample, with the axes that cut them.
struct Kept {
  double items = 0;
  AxisSet divided = 0;
  int grows = -1;  // the layer whose growth (strategy/local.hpp) it has, if any
};

/// Layers that are placed alike and have equal shapes: priced once and counted.
struct Cell {
  int layer = 0;  // the first of them
  double count = 0;
  AxisSet work = 0;                // axes that share out the arithmetic
  AxisSet weights = 0;             // axes that share out the weights
  AxisSet summed = 0;              // axes over which weight gradients are still to be summed
  AxisSet alike = 0;               // axes on which all PEs have the same weights and gradients
  AxisSet sums_channels = 0;       // axes on which each PE has an addend of y: role `channel`
  std::int8_t gradients = -1;      // entry of Layout::gradients; -1: nothing to sum
  AxisSet samples = 0;             // axes that share out the samples of a batch-norm's statistics
  std::int8_t halo_axis = -1;      // the axis on which it trades halos
  std::int8_t ring_axis = -1;      // the axis around which its keys and values travel
  bool recomputed = false;         // its forward pass runs again before its backward pass
  AxisSet halo_divided = 0;        // the other axes that cut x, whose rows it trades forward ...
  AxisSet dy_divided = 0;          // ... and dy, backward
  ExchangeList forward, backward;  // of its output, and of the gradient with respect to it
  std::array<Kept, 3> kept{};      // what the backward pass needs
  Kept mask;                       // one byte an item
  Kept x, y;  // input and output as a PE has them after all exchanges, for the paper's accounting
};

/// The same layers in the same order, again and again: a run of equal blocks.
struct Run {
  int first = 0;   // index into Layout::order
  int period = 1;  // layers in a block
  int repeats = 1;
};

/// A placed workload: which cells there are, and in which order. It depends on roles only, not on the sizes
/// of the axes, so that many grids share one layout.
struct Layout {
  std::vector<Cell> cells;
  std::vector<int> order;                   // cell of each layer
  std::vector<Run> runs;                    // covers `order`
  std::vector<std::vector<Role>> role;      // by axis, by layer
  AxisSet sharing = 0;                      // axes that split samples or space of the input
  AxisSet space = 0;                        // those that split space
  AxisSet pairs = 0;                        // axes that split heads and words: see AxisRoles
  std::vector<AxisSet> left;                // by layer: the axes that cut its output as it leaves it
  std::vector<int> last_reader;             // by layer: the last one that reads its output; itself if none does
  struct Gradients {
    AxisSet summed, alike;
    friend bool operator==(const Gradients&, const Gradients&) = default;
  };
  std::vector<Gradients> gradients;  // the kinds of layers that sum gradients or statistics
  AxisSet samples = 0, stages = 0;   // axes on which all layers have the role `data`, or `stage`
  std::vector<std::uint8_t> uses;    // by axis: bits of the collectives that change placements on it
  /// Axes that cut the same filters (or channels) together must not cut finer than the layer that has fewest.
  struct SharedSplit {
    AxisSet axes;
    LimitRule rule;
    double bound;
    int layer;
  };
  std::vector<SharedSplit> shared_splits;
  /// What the largest block that is recomputed keeps while its backward pass runs.
  std::vector<Kept> rebuilt, rebuilt_masks;
};

/// Cuts a sequence into runs of equal blocks, longest cover first from the left.
std::vector<Run> find_runs(const std::vector<int>& order);

/// Places every layer on every axis by its role there; a stage axis changes nothing here.
Layout place(const Workload& work, const RoleTable& roles, const PlacingRules& rules);
/// The same with the roles that the strategies of a mesh give.
inline Layout place(const Workload& work, const Mesh& mesh, const PlacingRules& rules) {
  return place(work, roles_of(work, mesh, rules), rules);
}

}  // namespace paradl
