#include "paradl/strategy/place.hpp"

#include <algorithm>
#include <bitset>
#include <map>
#include <string_view>
#include <utility>

#include "paradl/strategy/placements.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

/// A set of sets of axes.
using AxisSets = std::bitset<1u << most_axes>;

bool same(const Kept& a, const Kept& b) { return a.items == b.items && a.divided == b.divided; }

bool same(const ExchangeList& a, const ExchangeList& b) {
  return std::ranges::equal(a, b, [](const Exchange& e, const Exchange& f) {
    return e.operation == f.operation && e.axis == f.axis && e.divided == f.divided && e.items == f.items;
  });
}

/// Whether two layers of the same shapes cost the same. `grows` needs no comparison: it depends on shapes.
bool same(const Cell& a, const Cell& b) {
  const auto axes = [](const Cell& c) {
    return std::array<int, 10>{c.sums_channels, c.work,         c.weights,    c.summed,    c.alike,
                               c.space,         c.halo_divided, c.dy_divided, c.halo_axis, c.ring_axis};
  };
  return axes(a) == axes(b) && a.recomputed == b.recomputed && same(a.forward, b.forward) &&
         same(a.backward, b.backward) && same(a.kept[0], b.kept[0]) && same(a.kept[1], b.kept[1]) &&
         same(a.kept[2], b.kept[2]) && same(a.mask, b.mask) && same(a.x, b.x) && a.y.divided == b.y.divided;
}

/// Combines all axes: finds the collectives that each tensor needs.
class Placer {
 public:
  Placer(const Workload& work, const RoleTable& roles, const PlacingRules& rules)
      : work_(work),
        roles_(roles),
        rules_(rules),
        placed_(work, roles, rules),
        x_(split_axes(&AxisPlacement::x_wanted)),
        left_(split_axes(&AxisPlacement::y_left)),
        dy_(split_axes(&AxisPlacement::dy_wanted)),
        recomputed_(recomputed(work, rules)),
        inputs_(work.layers.size() + 1),
        kept_(work.layers.size() + 1) {}

  Layout layout() {
    Layout out;
    constexpr std::size_t usual = 64;  // cells
    out.cells.reserve(usual);
    out.order.reserve(work_.layers.size());
    out.last_reader.reserve(work_.layers.size());
    for (std::size_t i = 0; i < work_.layers.size(); ++i) {
      const int cell = add(out.cells, cell_of(i));
      out.cells[std::size_t(cell)].count += 1;
      out.order.push_back(cell);
      const auto readers = placed_.readers(int(i));
      out.last_reader.push_back(readers.empty() ? int(i) : int(readers.back()));
    }
    out.left = left_;
    out.runs = find_runs(out.order);
    add_rebuilt(out);
    for (std::size_t a = 0; a < placed_.axes(); ++a) {
      const AxisSet bit = axis_bit(int(a));
      out.role.push_back(placed_.on(a).role);
      if (is_split(roles_[a].input)) out.sharing |= bit;
      if (roles_[a].input == Placement::split_space ||
          std::ranges::find(placed_.on(a).role, Role::spatial) != placed_.on(a).role.end())
        out.space |= bit;
      if (roles_[a].pairs) out.pairs |= bit;
    }
    for (const Cell& cell : out.cells)
      if ((work_.layers[std::size_t(cell.layer)].weights > 0 || cell.samples) && cell.summed &&
          std::ranges::find(out.gradients, Layout::Gradients{cell.summed, cell.alike}) == out.gradients.end())
        out.gradients.push_back({cell.summed, cell.alike});
    for (Cell& cell : out.cells) {
      const auto group = std::ranges::find(out.gradients, Layout::Gradients{cell.summed, cell.alike});
      if (group != out.gradients.end()) cell.gradients = std::int8_t(group - out.gradients.begin());
    }
    for (std::size_t a = 0; a < placed_.axes(); ++a) {
      const auto all = [&](Role role) {
        return std::ranges::all_of(placed_.on(a).role, [&](Role r) { return r == role; });
      };
      if (all(Role::data)) out.samples |= axis_bit(int(a));
      if (all(Role::stage)) out.stages |= axis_bit(int(a));
    }
    out.uses.resize(placed_.axes());
    for (const Cell& cell : out.cells)
      for (const ExchangeList* list : {&cell.forward, &cell.backward})
        for (const Exchange& e : *list) out.uses[e.axis] |= std::uint8_t(1u << int(e.operation));
    for (const Cell& cell : out.cells) {
      const auto i = std::size_t(cell.layer);
      note_shared(out.shared_splits, i, Role::filter, LimitRule::shared_filters, work_.layers[i].y.channels);
      note_shared(out.shared_splits, i, Role::channel, LimitRule::shared_channels,
                  work_.layers[i].x.channels);
    }
    return out;
  }

 private:
  using Which = std::vector<Placement> AxisPlacement::*;

  /// Notes the layer if several axes give it this role and no known layer has a tighter bound on these axes.
  void note_shared(std::vector<Layout::SharedSplit>& shared_splits, std::size_t i, Role role, LimitRule rule,
             double bound) const {
    AxisSet axes = 0;
    int count = 0;
    for (std::size_t a = 0; a < placed_.axes(); ++a)
      if (placed_.on(a).role[i] == role) axes |= axis_bit(int(a)), ++count;
    if (count < 2) return;
    const auto same = [&](const Layout::SharedSplit& c) { return c.axes == axes && c.rule == rule; };
    const auto known = std::ranges::find_if(shared_splits, same);
    if (known == shared_splits.end())
      shared_splits.push_back({axes, rule, bound, int(i)});
    else if (bound < known->bound)
      *known = {axes, rule, bound, int(i)};
  }

  /// By layer: the axes that split the tensor `which`.
  std::vector<AxisSet> split_axes(Which which) const {
    std::vector<AxisSet> out(work_.layers.size());
    for (std::size_t a = 0; a < placed_.axes(); ++a) {
      const std::vector<Placement>& placement = placed_.on(a).*which;
      for (std::size_t i = 0; i < out.size(); ++i)
        if (is_split(placement[i])) out[i] |= axis_bit(int(a));
    }
    return out;
  }
  AxisSet input_split() const {
    AxisSet set = 0;
    for (std::size_t a = 0; a < roles_.size(); ++a)
      if (is_split(roles_[a].input)) set |= axis_bit(int(a));
    return set;
  }

  Cell cell_of(std::size_t i) {
    const Layer& layer = work_.layers[i];
    Cell cell{.layer = int(i)};
    for (std::size_t a = 0; a < placed_.axes(); ++a) {
      const AxisPlacement& on = placed_.on(a);
      const AxisSet bit = axis_bit(int(a));
      const Placement x = on.x_wanted[i];
      const Role role = on.role[i];
      const bool kept_split = role == Role::keep && is_split(x);
      if (role == Role::channel) cell.sums_channels |= bit;
      if (role == Role::filter || role == Role::channel || role == Role::expert ||
          (kept_split && x == Placement::split_channel))
        cell.weights |= bit;
      if (role == Role::data || role == Role::spatial || (kept_split && x != Placement::split_channel))
        cell.summed |= bit;
      if (cell.summed & bit && x == Placement::split_space) cell.space |= bit;
      if (cell.weights & bit || cell.summed & bit)
        cell.work |= bit;
      else if (role != Role::stage)
        cell.alike |= bit;
      if (role == Role::spatial && traits(layer.op).window) cell.halo_axis = std::int8_t(a);
      if (role == Role::spatial && layer.op == Op::attention) cell.ring_axis = std::int8_t(a);
    }
    if (layer.op == Op::batch_norm) cell.samples = cell.summed;
    if (cell.halo_axis >= 0) {
      const AxisSet others = AxisSet(~axis_bit(cell.halo_axis));
      cell.halo_divided = AxisSet(x_[i] & others);
      cell.dy_divided = AxisSet(dy_[i] & others);
    }
    cell.forward = exchanges(placed_.forward(int(i)), layer.y.items());
    if (!placed_.readers(int(i)).empty())
      cell.backward = exchanges(placed_.backward(int(i)), layer.y.items());
    cell.recomputed = recomputed_[i];
    add_memory(i, cell);
    return cell;
  }

  /// The collectives that change a tensor's placement. If other axes cut the tensor, too, each group handles
  /// its part. An all-to-all is counted by the part of one GPU, other collectives by the buffer of the group.
  ExchangeList exchanges(const Relayout& relayout, double items) const {
    ExchangeList list;
    TensorPlacement now = relayout.given;
    for (const auto& [axis, from, to] : relayout.changes) {
      if (const auto op = exchange(from, to)) {
        AxisSet cut = *op == Collective::all_to_all ? axis_bit(int(axis)) : AxisSet(0);
        for (std::size_t a = 0; a < placed_.axes(); ++a)
          if (a != axis && is_split(now[a])) cut |= axis_bit(int(a));
        list.add({*op, std::uint8_t(axis), cut, items});
      }
      now[axis] = to;
    }
    return list;
  }

  /// The layer that made a tensor: views only pass on their input. -1 for the network's input.
  int maker(int tensor) const {
    while (tensor >= 0 && is_view(work_.layers[std::size_t(tensor)].op))
      tensor = work_.layers[std::size_t(tensor)].inputs.front();
    return tensor;
  }

  /// Notes that a tensor is split by these axes; false if that was known.
  static bool insert(std::vector<AxisSets>& sets, int tensor, AxisSet split_by) {
    AxisSets& noted = sets[std::size_t(tensor + 1)];
    if (noted[split_by]) return false;
    noted.set(split_by);
    return true;
  }

  /// Whether layer i is the first that keeps the tensor split in this way: later layers use the same copy.
  /// Must be called in the order of layers.
  bool keeps_first(std::size_t i, int tensor, AxisSet split_by) {
    if (!insert(kept_, tensor, split_by)) return false;
    const bool made_kept = tensor >= 0 && traits(work_.layers[std::size_t(tensor)].op).keeps == Keeps::y &&
                           (!drops(std::size_t(tensor)) || same_block(i, tensor));
    return !(made_kept && left_[std::size_t(tensor)] == split_by);
  }

  /// Whether a layer's output is dropped and recomputed.
  bool drops(std::size_t i) const { return recomputed_[i] && rules_.recompute == Recompute::full; }
  bool same_block(std::size_t i, int tensor) const {
    return tensor >= 0 && work_.layers[std::size_t(tensor)].block == work_.layers[i].block;
  }

  double items_of(int tensor) const {
    return tensor < 0 ? work_.input.items() : work_.layers[std::size_t(tensor)].y.items();
  }

  /// The axes that split an input that a layer keeps for its backward pass. Between pairs of products a GPU
  /// keeps its part of the sequence and gathers the rest again, hidden behind the product for dx (Korthikanti
  /// et al. 2022, section 4.2.2).
  AxisSet kept_placement(std::size_t i, int from) const {
    AxisSet split_by = x_[i];
    for (std::size_t a = 0; a < placed_.axes() && from >= 0; ++a)
      if (rules_.sequence_parallel && placed_.on(a).role[i] == Role::filter &&
          placed_.on(a).y_left[std::size_t(from)] == Placement::split_space)
        split_by |= axis_bit(int(a));
    return split_by;
  }

  /// Charges each tensor that the backward pass needs to the layer that needs it, and only once.
  void add_memory(std::size_t i, Cell& cell) {
    const Layer& layer = work_.layers[i];
    const Keeps keeps = traits(layer.op).keeps;
    const AxisSet x = x_[i], left = left_[i];
    if (keeps == Keeps::x)
      for (const int from : layer.inputs)
        if (const AxisSet split_by = kept_placement(i, from); keeps_first(i, maker(from), split_by))
          cell.kept[0] = {cell.kept[0].items + items_of(from), split_by,
                          layer.op == Op::attention ? int(i) : -1};
    if (keeps == Keeps::y) cell.kept[1] = {layer.y.items(), left};
    if (keeps == Keeps::mask) cell.mask = {layer.y.items(), left};
    // Attention keeps its scores; with dropout, the scores before and after it, and the mask. Flash attention
    // keeps the sum of exponentials of each row instead, in fp32.
    if (layer.scores > 0) {
      cell.kept[2] = {(layer.dropout ? 2 : 1) * layer.scores, x};
      if (layer.dropout) cell.mask = {layer.scores, x};
    } else if (layer.op == Op::attention) {
      cell.mask = {4 * layer.query_heads * layer.x.positions(), x};
    }
    // Logits and their softmax are fp32, whatever the precision of the rest.
    if (layer.op == Op::loss && work_.tokens) {
      cell.mask = {4 * layer.x_items, x, int(i)};
      cell.kept[0] = {};
    }
    if (cell.recomputed) drop_recomputed(i, cell);
    // A GPU that has a whole tensor needs all of its memory, even if it only uses a slice.
    AxisSet source = AxisSet(~0u), gathered = left;
    for (const int from : layer.inputs)
      source &= from < 0 ? input_split() : left_[std::size_t(from)];
    for (const std::size_t reader : placed_.readers(int(i)))
      gathered &= x_[reader];
    const bool grows = layer.vocabulary > 0 || layer.kv_share > 0;
    const bool makes = traits(layer.op).product || layer.op == Op::embedding;
    cell.x = {layer.x_buffer(), AxisSet(x & source), grows && !makes ? int(i) : -1};
    cell.y = {layer.y.items(), gathered,
              grows && layer.op != Op::embedding && layer.op != Op::attention ? int(i) : -1};
  }

  /// Recomputed tensors are not kept, but take memory during the block's backward pass; its input is kept.
  void drop_recomputed(std::size_t i, Cell& cell) {
    Rebuilt& block = rebuilt_[work_.layers[i].block < 0 ? -1 - int(i) : work_.layers[i].block];
    const auto take = [](Rebuilt::Sums& sums, Kept& kept) {
      sums[{kept.divided, kept.grows}] += kept.items;
      kept = {};
    };
    if (rules_.recompute == Recompute::selective) {
      take(block.kept, cell.kept[2]);
      take(block.masks, cell.mask);
      return;
    }
    for (Kept& kept : cell.kept) take(block.kept, kept);
    take(block.masks, cell.mask);
    for (const int from : work_.layers[i].inputs) {
      const int tensor = maker(from);
      if (same_block(i, tensor)) continue;
      const AxisSet split_by = tensor < 0 ? input_split() : left_[std::size_t(tensor)];
      if (insert(inputs_, tensor, split_by)) cell.kept[0] = {cell.kept[0].items + items_of(from), split_by};
    }
  }

  /// The recomputed block that takes most memory during its backward pass.
  void add_rebuilt(Layout& out) const {
    const Rebuilt* largest = nullptr;
    for (const auto& [block, rebuilt] : rebuilt_)
      if (!largest || rebuilt.items() > largest->items()) largest = &rebuilt;
    if (!largest) return;
    for (const auto& [split_by, items] : largest->kept)
      out.rebuilt.push_back({items, split_by.first, split_by.second});
    for (const auto& [split_by, items] : largest->masks)
      out.rebuilt_masks.push_back({items, split_by.first, split_by.second});
  }

  /// The index of a cell, which is added if it is new. Cells of the same shapes form a linked list.
  int add(std::vector<Cell>& cells, const Cell& cell) {
    const auto shape = std::size_t(work_.layers[std::size_t(cell.layer)].shape_class);
    if (newest_.size() <= shape) newest_.resize(shape + 1, -1);
    for (int c = newest_[shape]; c >= 0; c = older_[std::size_t(c)])
      if (same(cells[std::size_t(c)], cell)) return c;
    older_.push_back(std::exchange(newest_[shape], int(cells.size())));
    cells.push_back(cell);
    return newest_[shape];
  }

  /// Items that a recomputed block holds during its backward pass, by the axes that cut them and the layer
  /// whose growth they have.
  struct Rebuilt {
    using Sums = std::map<std::pair<AxisSet, int>, double>;
    Sums kept, masks;
    double items() const {
      double sum = 0;
      for (const auto& [split_by, items] : kept) sum += 2 * items;
      for (const auto& [split_by, items] : masks) sum += items;
      return sum;
    }
  };

  const Workload& work_;
  const RoleTable& roles_;
  PlacingRules rules_;
  Placements placed_;
  std::vector<AxisSet> x_, left_, dy_;  // by layer: the axes that split x, y after its sums, and dy
  std::vector<bool> recomputed_;        // by layer
  std::map<int, Rebuilt> rebuilt_;      // by block; layers outside of blocks have the key -1 - layer
  // By tensor, the network's input first: the sets of axes that split it
  std::vector<AxisSets> inputs_;  // as a kept input of a recomputed block
  std::vector<AxisSets> kept_;    // as kept by a layer
  std::vector<int> newest_;       // by shape class: the cell that was added last; -1: none
  std::vector<int> older_;        // by cell: the previous cell of the same shape class
};

}  // namespace

std::vector<Run> find_runs(const std::vector<int>& order) {
  constexpr int longest_block = 64;
  const int n = int(order.size());
  // The next layer with the same cell: a block can only end there.
  std::vector<int> again(order.size()), next(order.empty() ? 0 : std::size_t(std::ranges::max(order)) + 1, n);
  for (int i = n; i-- > 0;)
    again[std::size_t(i)] = std::exchange(next[std::size_t(order[std::size_t(i)])], i);
  std::vector<Run> runs;
  for (int i = 0; i < n;) {
    Run best{.first = i, .period = 1, .repeats = 1};
    for (int end = again[std::size_t(i)]; end <= i + longest_block && 2 * end - i <= n;
         end = again[std::size_t(end)]) {
      const int period = end - i;
      // A multiple of the best period inside its run ends where that run ends.
      if (period % best.period == 0 && period < best.repeats * best.period) continue;
      int equal = 1;
      while (end + equal < n && order[std::size_t(i + equal)] == order[std::size_t(end + equal)]) ++equal;
      const int repeats = 1 + equal / period;
      if (repeats > 1 && repeats * period > best.repeats * best.period) best = {i, period, repeats};
    }
    runs.push_back(best);
    i += best.period * best.repeats;
  }
  return runs;
}

Layout place(const Workload& work, const RoleTable& roles, const PlacingRules& rules) {
  return Placer(work, roles, rules).layout();
}

}  // namespace paradl
