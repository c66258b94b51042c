#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "paradl/core/short_list.hpp"
#include "paradl/mesh/exchange.hpp"
#include "paradl/mesh/mesh.hpp"
#include "paradl/strategy/roles.hpp"

namespace paradl {

/// How every tensor lies on one axis: by layer.
struct AxisPlacement {
  std::vector<Role> role;
  std::vector<Placement> x_wanted, y_given, y_left, dy_wanted, dx_given;  // y_left: once sums have been made
};

/// How one tensor lies on every axis.
using Lie = std::array<Placement, most_axes>;

/// One tensor changes its placement on one axis.
struct Change {
  std::size_t axis = 0;
  Placement from = Placement::replicated, to = Placement::replicated;
};

/// A tensor's way from how it is given to how it is wanted, in order, with the changes that cost nothing.
struct Way {
  Lie given{};
  ShortList<Change, 3 * most_axes> changes;  // a sum, a slice and a gathering on each axis
};

/// All layers on all axes: who wants what, and how it gets there. The engine prices it, a rehearsal does it.
class Placements {
 public:
  Placements(const Workload& work, const RoleTable& roles, const PlacingRules& rules);
  /// With the roles that the strategies of a mesh give.
  Placements(const Workload& work, const Mesh& mesh, const PlacingRules& rules)
      : Placements(work, roles_of(work, mesh, rules), rules) {}

  std::size_t axes() const { return axes_.size(); }
  const AxisPlacement& on(std::size_t axis) const { return axes_[axis]; }
  /// The layers that read a layer's output; those that read the network's input for -1.
  std::span<const std::size_t> readers(int layer) const {
    const std::size_t first = first_reader_[std::size_t(layer + 1)];
    return std::span(readers_).subspan(first, first_reader_[std::size_t(layer + 2)] - first);
  }
  /// How each PE reads the network's input.
  Lie input() const;

  /// From how a layer gives y to how its readers want it. Sums are made from the inside out and slices
  /// gathered from the outside in, so that the slow links carry the smallest pieces; slices that cost nothing
  /// are taken in between.
  Way forward(int layer) const;

  /// From how the readers of y give its gradient to how the layer wants it. Addends of several readers are
  /// added up before they are sent. For -1: the gradient of the network's input, its sums made.
  Way backward(int layer) const;

 private:
  void find_readers(const Workload& work);
  Placement wanted_by_readers(std::size_t axis, int layer, Placement none) const;
  Placement given_by_readers(std::size_t axis, int layer) const;
  bool gathers_space(std::size_t axis, int layer) const;
  void slice_backward(const Workload& work, AxisPlacement& axis) const;

  PlacingRules rules_;
  std::vector<Placement> input_;  // by axis
  std::vector<AxisPlacement> axes_;
  std::vector<std::size_t> readers_;       // of the input, of layer 0, ...
  std::vector<std::size_t> first_reader_;  // of each of these; and where the last list ends
};

}  // namespace paradl
