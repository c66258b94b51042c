#include "paradl/strategy/place.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace paradl {
namespace {

/// How every tensor lies on one axis.
struct AxisPlacement {
  std::vector<Role> role;
  std::vector<Placement> x_wanted, y_given, y_left, dy_wanted, dx_given;  // y_left: once sums have been made
};

AxisPlacement place_on(const Workload& work, const Axis& axis, Reduction reduction) {
  const std::size_t n = work.layers.size();
  AxisPlacement placed;
  for (auto* list : {&placed.x_wanted, &placed.y_given, &placed.y_left, &placed.dy_wanted, &placed.dx_given})
    list->resize(n);
  placed.role.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    // Of several inputs the one that is split decides: what is whole can be sliced for nothing.
    Placement incoming = Placement::replicated;
    for (const int from : work.layers[i].inputs) {
      const Placement here = from < 0 ? axis.strategy->input : placed.y_left[std::size_t(from)];
      if (is_split(here)) incoming = here;
    }
    const Role role = axis.strategy->role(work, i, axis.parts, incoming);
    const RoleRow row = row_of(role, incoming);
    placed.role[i] = role;
    placed.x_wanted[i] = row.x_wanted;
    placed.y_given[i] = row.y_given;
    placed.y_left[i] = row.y_given == Placement::partial ? reduced(reduction) : row.y_given;
    placed.dy_wanted[i] = row.dy_wanted;
    placed.dx_given[i] = row.dx_given;
  }
  return placed;
}

/// All axes together: which collectives each tensor needs.
class Placer {
 public:
  Placer(const Workload& work, const Mesh& mesh, Reduction reduction)
      : work_(work), mesh_(mesh), reduction_(reduction) {
    for (int a = 0; a < mesh.axes; ++a) axes_.push_back(place_on(work, mesh.axis[std::size_t(a)], reduction));
    readers_.resize(work.layers.size());
    for (std::size_t i = 0; i < work.layers.size(); ++i)
      for (const int from : work.layers[i].inputs)
        if (from >= 0) readers_[std::size_t(from)].push_back(i);
  }

  Layout layout() {
    Layout out;
    std::map<std::string, int> known;
    for (std::size_t i = 0; i < work_.layers.size(); ++i) {
      const Cell cell = cell_of(i);
      const auto [entry, fresh] = known.emplace(key(cell), int(out.cells.size()));
      if (fresh) out.cells.push_back(cell);
      out.cells[std::size_t(entry->second)].count += 1;
      out.order.push_back(entry->second);
    }
    out.runs = find_runs(out.order);
    for (const AxisPlacement& axis : axes_) out.role.push_back(axis.role);
    out.crossing = crossing();
    for (const Cell& cell : out.cells)
      if ((work_.layers[std::size_t(cell.layer)].weights > 0 || cell.samples) && cell.summed &&
          std::ranges::find(out.gradients, Layout::Gradients{cell.summed, cell.alike}) == out.gradients.end())
        out.gradients.push_back({cell.summed, cell.alike});
    return out;
  }

 private:
  using Which = std::vector<Placement> AxisPlacement::*;

  /// The axes on which a layer's tensor is split.
  AxisSet split(Which which, std::size_t i) const {
    AxisSet set = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (is_split((axes_[a].*which)[i])) set |= axis_bit(int(a));
    return set;
  }
  /// The axes on which all readers of a tensor leave or want it split.
  AxisSet split_for_readers(Which which, std::size_t tensor, AxisSet none) const {
    AxisSet set = readers_[tensor].empty() ? none : AxisSet(~0u);
    for (const std::size_t reader : readers_[tensor]) set &= split(which, reader);
    return set;
  }

  AxisSet input_split() const {
    AxisSet set = 0;
    for (int a = 0; a < mesh_.axes; ++a)
      if (is_split(mesh_.axis[std::size_t(a)].strategy->input)) set |= axis_bit(a);
    return set;
  }

  static AxisSet outer(std::size_t axis) { return AxisSet(axis_bit(int(axis)) - 1); }
  static AxisSet inner(std::size_t axis) { return AxisSet(~(outer(axis) | axis_bit(int(axis)))); }

  Cell cell_of(std::size_t i) const {
    const Layer& layer = work_.layers[i];
    Cell cell{.layer = int(i)};
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const AxisPlacement& on = axes_[a];
      const AxisSet bit = axis_bit(int(a));
      const Placement x = on.x_wanted[i];
      const Role role = on.role[i];
      const bool kept_split = role == Role::keep && is_split(x);
      if (role == Role::filter || role == Role::channel || (kept_split && x == Placement::split_channel))
        cell.weights |= bit;
      if (role == Role::data || role == Role::spatial || (kept_split && x != Placement::split_channel))
        cell.summed |= bit;
      if (cell.weights & bit || cell.summed & bit)
        cell.work |= bit;
      else if (role != Role::stage)
        cell.alike |= bit;
      if (role == Role::spatial && traits(layer.op).window) cell.halo_axis = std::int8_t(a);
    }
    if (layer.op == Op::batch_norm) cell.samples = cell.summed;
    if (cell.halo_axis >= 0)
      cell.halo_divided = AxisSet(split(&AxisPlacement::x_wanted, i) & ~axis_bit(cell.halo_axis));
    add_forward(i, cell.forward);
    add_backward(i, cell.backward);
    add_memory(i, cell);
    return cell;
  }

  /// From how layer i gives y to how its readers want it. Sums are made from the inside out and slices
  /// gathered from the outside in, so that the slow links carry the smallest pieces.
  void add_forward(std::size_t i, ExchangeList& list) const {
    const AxisSet given = split(&AxisPlacement::y_given, i), left = split(&AxisPlacement::y_left, i);
    const AxisSet wanted = split_for_readers(&AxisPlacement::x_wanted, i, left);
    const double items = work_.layers[i].y.items();
    for (std::size_t a = axes_.size(); a-- > 0;)
      if (const auto op = exchange(axes_[a].y_given[i], axes_[a].y_left[i]))
        list.add({*op, std::uint8_t(a), AxisSet((given & outer(a)) | (left & inner(a))), items, int(i)});
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      bool done = false;  // what one reader has gathered the next one finds
      for (const std::size_t reader : readers_[i]) {
        const auto op = exchange(axes_[a].y_left[i], axes_[a].x_wanted[reader]);
        if (!op || done) continue;
        const AxisSet others = AxisSet((wanted & outer(a)) | (left & inner(a)));
        list.add({*op, std::uint8_t(a), with_own_part(*op, a, others), items, int(i)});
        done = true;
      }
    }
  }

  /// From how the readers of y give its gradient to how layer i wants it. Addends of several readers are
  /// added up before they are sent.
  void add_backward(std::size_t i, ExchangeList& list) const {
    const AxisSet given = split_for_readers(&AxisPlacement::dx_given, i, 0);
    const AxisSet wanted = split(&AxisPlacement::dy_wanted, i);
    const double items = work_.layers[i].y.items();
    for (std::size_t a = axes_.size(); a-- > 0;) {
      const Placement want = axes_[a].dy_wanted[i];
      const auto partial = [&](std::size_t reader) {
        return axes_[a].dx_given[reader] == Placement::partial;
      };
      if (!std::ranges::any_of(readers_[i], partial)) continue;
      const bool slices = want == Placement::split_channel && reduction_ == Reduction::reduce_scatter;
      const auto op = slices ? Collective::reduce_scatter : Collective::allreduce;
      list.add({op, std::uint8_t(a), AxisSet((given & outer(a)) | (wanted & inner(a))), items, int(i)});
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      bool done = false;
      for (const std::size_t reader : readers_[i]) {
        if (axes_[a].dx_given[reader] == Placement::partial) continue;
        const auto op = exchange(axes_[a].dx_given[reader], axes_[a].dy_wanted[i]);
        if (!op || done) continue;
        const AxisSet others = AxisSet((wanted & outer(a)) | (given & inner(a)));
        list.add({*op, std::uint8_t(a), with_own_part(*op, a, others), items, int(i)});
        done = true;
      }
    }
  }

  /// An all-to-all moves a PE's own part, the other collectives are counted by the whole buffer of their
  /// group.
  static AxisSet with_own_part(Collective op, std::size_t axis, AxisSet others) {
    return op == Collective::all_to_all ? AxisSet(others | axis_bit(int(axis))) : others;
  }

  /// What backward needs of x or y, each tensor once: as its readers have gathered it, and as it was made if
  /// that differs.
  void add_memory(std::size_t i, Cell& cell) const {
    const Layer& layer = work_.layers[i];
    const Keeps keeps = traits(layer.op).keeps;
    const AxisSet left = split(&AxisPlacement::y_left, i);
    const AxisSet wanted = split_for_readers(&AxisPlacement::x_wanted, i, left);
    std::size_t n = 0;
    bool read = false;
    for (const std::size_t reader : readers_[i]) read |= traits(work_.layers[reader].op).keeps == Keeps::x;
    if (read) cell.kept[n++] = {layer.y.items(), wanted};
    if (keeps == Keeps::y && (!read || wanted != left)) cell.kept[n++] = {layer.y.items(), left};
    const AxisSet x = split(&AxisPlacement::x_wanted, i);
    // Attention keeps its scores twice, before and after dropout.
    if (layer.scores > 0) cell.kept[n++] = {2 * layer.scores, x};
    if (layer.first() && keeps == Keeps::x && n < cell.kept.size()) cell.kept[n++] = {layer.x_items, x};
    if (keeps == Keeps::mask) cell.mask = {layer.y.items(), left};
    // A slice of a tensor that a PE has whole does not make it smaller.
    AxisSet source = AxisSet(~0u);
    for (const int from : layer.inputs)
      source &= from < 0 ? input_split() : split(&AxisPlacement::y_left, std::size_t(from));
    cell.x = {layer.x_buffer(), AxisSet(x & source)};
    cell.y = {layer.y.items(), AxisSet(left & wanted)};
  }

  /// Two cells are one if everything that prices them is equal.
  std::string key(const Cell& cell) const {
    std::string bytes;
    const auto add = [&](const auto& value) {
      char raw[sizeof value];
      std::memcpy(raw, &value, sizeof value);
      bytes.append(raw, sizeof value);
    };
    add(work_.layers[std::size_t(cell.layer)].shape_class);
    add(cell.work), add(cell.weights), add(cell.summed), add(cell.alike), add(cell.halo_axis),
        add(cell.halo_divided);
    for (const ExchangeList* list : {&cell.forward, &cell.backward}) {
      add(list->size);
      for (const Exchange& e : *list) add(e.operation), add(e.axis), add(e.divided), add(e.items);
    }
    for (const Kept& kept : cell.kept) add(kept.items), add(kept.divided);
    add(cell.x.items), add(cell.x.divided), add(cell.y.divided);
    return bytes;
  }

  /// For each layer, the tensors that a stage border after it would have to send.
  std::vector<std::vector<Kept>> crossing() const {
    std::vector<std::vector<Kept>> out(work_.layers.size());
    for (std::size_t i = 0; i < work_.layers.size(); ++i) {
      const std::size_t last = readers_[i].empty() ? i : readers_[i].back();
      const Kept sent{work_.layers[i].y.items(), split(&AxisPlacement::y_left, i)};
      for (std::size_t border = i; border < last; ++border) out[border].push_back(sent);
    }
    return out;
  }

  /// Cuts a sequence into runs of equal blocks, longest cover first from the left.
  static std::vector<Run> find_runs(const std::vector<int>& order) {
    constexpr int longest_block = 64;
    const int n = int(order.size());
    std::vector<Run> runs;
    for (int i = 0; i < n;) {
      Run best{.first = i, .period = 1, .repeats = 1};
      for (int period = 1; period <= longest_block && i + 2 * period <= n; ++period) {
        int same = 0;
        while (i + period + same < n && order[std::size_t(i + same)] == order[std::size_t(i + period + same)])
          ++same;
        const int repeats = 1 + same / period;
        if (repeats > 1 && repeats * period > best.repeats * best.period) best = {i, period, repeats};
      }
      runs.push_back(best);
      i += best.period * best.repeats;
    }
    return runs;
  }

  const Workload& work_;
  const Mesh& mesh_;
  Reduction reduction_;
  std::vector<AxisPlacement> axes_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

Layout place(const Workload& work, const Mesh& mesh, Reduction reduction) {
  return Placer(work, mesh, reduction).layout();
}

std::vector<Role> roles_of(const Workload& work, const Strategy& strategy, const Parts& parts) {
  std::vector<Role> roles;
  roles.reserve(2 * work.layers.size());
  for (const Placement incoming : {Placement::replicated, Placement::split_channel})
    for (std::size_t i = 0; i < work.layers.size(); ++i)
      roles.push_back(strategy.role(work, i, parts, incoming));
  return roles;
}

}  // namespace paradl
