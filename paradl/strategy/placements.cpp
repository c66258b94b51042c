#include "paradl/strategy/placements.hpp"

#include <algorithm>

namespace paradl {
namespace {

AxisPlacement place_on(const Workload& work, const AxisRoles& axis, const PlacingRules& rules) {
  const std::size_t n = work.layers.size();
  AxisPlacement placed;
  placed.role = axis.role;
  for (auto* list : {&placed.x_wanted, &placed.y_given, &placed.y_left, &placed.dy_wanted, &placed.dx_given})
    list->resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const RoleRow row = row_of(axis.role[i], incoming(work.layers[i], axis, placed.y_left));
    placed.x_wanted[i] = row.x_wanted;
    placed.y_given[i] = row.y_given;
    placed.y_left[i] = output_left(work.layers[i], axis, row, rules);
    placed.dy_wanted[i] = row.dy_wanted;
    placed.dx_given[i] = row.dx_given;
  }
  return placed;
}

/// Records the changes of a tensor's placement.
class Journal {
 public:
  explicit Journal(const TensorPlacement& given) : now_(given) { relayout_.given = given; }
  Placement on(std::size_t axis) const { return now_[axis]; }
  bool is_free(std::size_t axis, Placement to) const { return !exchange(now_[axis], to); }
  void change(std::size_t axis, Placement to) {
    if (now_[axis] != to) relayout_.changes.add({axis, now_[axis], to});
    now_[axis] = to;
  }
  Relayout take() && { return std::move(relayout_); }

 private:
  Relayout relayout_;
  TensorPlacement now_;
};

}  // namespace

Placements::Placements(const Workload& work, const RoleTable& roles, const PlacingRules& rules)
    : rules_(rules) {
  for (const AxisRoles& axis : roles) {
    axes_.push_back(place_on(work, axis, rules));
    input_.push_back(axis.input);
  }
  find_readers(work);
  if (rules.convolutions_only && rules.reduction == Reduction::reduce_scatter)
    for (AxisPlacement& axis : axes_) slice_backward(work, axis);
}

void Placements::find_readers(const Workload& work) {
  const std::size_t n = work.layers.size();
  std::vector<std::size_t> next(n + 2);  // where the next reader of each tensor goes
  for (const Layer& layer : work.layers)
    for (const int from : layer.inputs) ++next[std::size_t(from + 2)];
  for (std::size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
  first_reader_ = next;
  readers_.resize(next.back());
  for (std::size_t i = 0; i < n; ++i)
    for (const int from : work.layers[i].inputs) readers_[next[std::size_t(from + 1)]++] = i;
}

/// A gradient that a reduce-scatter has left in slices stays in slices until the convolution before, which
/// wants slices. Layers in between work channel by channel: they run whole forward, but only on their GPU's
/// slice backward.
void Placements::slice_backward(const Workload& work, AxisPlacement& axis) const {
  for (std::size_t i = work.layers.size(); i-- > 0;) {
    if (axis.role[i] != Role::whole || !traits(work.layers[i].op).per_channel) continue;
    const auto sliced = [&](std::size_t reader) {
      return axis.dx_given[reader] == Placement::partial ||
             (axis.role[reader] == Role::whole && axis.dx_given[reader] == Placement::split_channel);
    };
    if (std::ranges::any_of(readers(int(i)), sliced))
      axis.dy_wanted[i] = axis.dx_given[i] = Placement::split_channel;
  }
}

/// Whether the spatial parts of a layer's y are gathered forward.
bool Placements::gathers_space(std::size_t a, int i) const {
  return axes_[a].y_given[std::size_t(i)] == Placement::split_space &&
         wanted_by_readers(a, i, Placement::split_space) == Placement::replicated;
}

TensorPlacement Placements::input() const {
  TensorPlacement placement{};
  for (std::size_t a = 0; a < axes_.size(); ++a) placement[a] = input_[a];
  return placement;
}

/// Split if all readers want it split; whole if one reader wants it whole.
Placement Placements::wanted_by_readers(std::size_t a, int layer, Placement none) const {
  Placement all = none;
  for (const std::size_t reader : readers(layer)) {
    all = axes_[a].x_wanted[reader];
    if (!is_split(all)) break;
  }
  return all;
}

Relayout Placements::forward(int i) const {
  TensorPlacement given{};
  bool changes = false;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    given[a] = axes_[a].y_given[std::size_t(i)];
    changes |= wanted_by_readers(a, i, axes_[a].y_left[std::size_t(i)]) != given[a];
  }
  Journal journal(given);
  if (!changes) return std::move(journal).take();  // as for most layers
  for (std::size_t a = axes_.size(); a-- > 0;)
    if (given[a] == Placement::partial) {
      // If the readers want the whole sum, do not scatter it first.
      const Placement left = axes_[a].y_left[std::size_t(i)];
      journal.change(a,
                     wanted_by_readers(a, i, left) == Placement::replicated ? Placement::replicated : left);
    }
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const Placement wanted = wanted_by_readers(a, i, journal.on(a));
    if (journal.is_free(a, wanted)) journal.change(a, wanted);
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) journal.change(a, wanted_by_readers(a, i, journal.on(a)));
  return std::move(journal).take();
}

/// Addends if one reader gives addends; else slices if one reader gives slices; else whole.
Placement Placements::given_by_readers(std::size_t a, int layer) const {
  Placement all = Placement::replicated;
  for (const std::size_t reader : readers(layer)) {
    const Placement given = axes_[a].dx_given[reader];
    if (given == Placement::partial) return given;
    if (is_split(given) || !is_split(all)) all = given;
  }
  return all;
}

Relayout Placements::backward(int i) const {
  TensorPlacement given{};
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    given[a] = given_by_readers(a, i);
    if (rules_.gathers_reduce && i >= 0 && given[a] == Placement::replicated && gathers_space(a, i))
      given[a] = Placement::partial;
  }
  Journal journal(given);
  const auto wanted = [&](std::size_t a) {
    if (i >= 0) return axes_[a].dy_wanted[std::size_t(i)];
    return given[a] == Placement::partial ? Placement::replicated : given[a];
  };
  bool changes = false;
  for (std::size_t a = 0; a < axes_.size(); ++a) changes |= wanted(a) != given[a];
  if (!changes) return std::move(journal).take();  // as for most layers
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (journal.is_free(a, wanted(a))) journal.change(a, wanted(a));
  for (std::size_t a = axes_.size(); a-- > 0;) {
    if (journal.on(a) != Placement::partial) continue;
    const bool slices = wanted(a) == Placement::split_channel ? rules_.reduction == Reduction::reduce_scatter
                        : wanted(a) == Placement::split_space && rules_.sequence_parallel
                            ? true
                            : is_split(wanted(a)) && rules_.gathers_reduce;
    journal.change(a, slices ? wanted(a) : Placement::replicated);
    if (is_split(wanted(a))) journal.change(a, wanted(a));  // a slice of what is whole costs nothing
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) journal.change(a, wanted(a));
  return std::move(journal).take();
}

}  // namespace paradl
