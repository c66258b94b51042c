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

/// The placement of every tensor on one axis, by layer.
struct AxisPlacement {
  std::vector<Role> role;
  std::vector<Placement> x_wanted, y_given, y_left, dy_wanted, dx_given;  // y_left: once sums have been made
};

/// The placement of one tensor on every axis.
using TensorPlacement = std::array<Placement, most_axes>;

/// One tensor changes its placement on one axis.
struct PlacementChange {
  std::size_t axis = 0;
  Placement from = Placement::replicated, to = Placement::replicated;
};

/// The changes that take a tensor from the placement it is given in to the one that is wanted, in order,
/// including those that cost nothing.
struct Relayout {
  TensorPlacement given{};
  ShortList<PlacementChange, 3 * most_axes> changes;  // a sum, a slice and a gathering on each axis
};

/// The placements that all layers want and give on all axes, and the changes between them. The engine prices
/// these changes, a rehearsal executes them.
class Placements {
 public:
  Placements(const Workload& work, const RoleTable& roles, const PlacingRules& rules);
  /// With the roles from the strategies of a mesh.
  Placements(const Workload& work, const Mesh& mesh, const PlacingRules& rules)
      : Placements(work, roles_of(work, mesh, rules), rules) {}

  std::size_t axes() const { return axes_.size(); }
  const AxisPlacement& on(std::size_t axis) const { return axes_[axis]; }
  /// The layers that read a layer's output; for -1, those that read the network's input.
  std::span<const std::size_t> readers(int layer) const {
    const std::size_t first = first_reader_[std::size_t(layer + 1)];
    return std::span(readers_).subspan(first, first_reader_[std::size_t(layer + 2)] - first);
  }
  /// How each GPU reads the network's input.
  TensorPlacement input() const;

  /// From the placement in which a layer gives y to the one that its readers want. Sums go from the innermost
  /// axis out and allgathers from the outermost axis in, so that slow links carry the smallest pieces;
  /// slices, which cost nothing, are taken in between.
  Relayout forward(int layer) const;

  /// From the placement in which the readers of y give its gradient to the one that the layer wants. Addends
  /// of several readers are added locally before they are sent. For -1: the gradient of the network's input,
  /// with its sums made.
  Relayout backward(int layer) const;

 private:
  void find_readers(const Workload& work);
  Placement wanted_by_readers(std::size_t axis, int layer, Placement none) const;
  Placement given_by_readers(std::size_t axis, int layer) const;
  bool gathers_space(std::size_t axis, int layer) const;
  void slice_backward(const Workload& work, AxisPlacement& axis) const;

  PlacingRules rules_;
  std::vector<Placement> input_;  // by axis
  std::vector<AxisPlacement> axes_;
  std::vector<std::size_t> readers_;       // of the network's input, of layer 0, ...
  std::vector<std::size_t> first_reader_;  // where each of these lists begins, and the end of the last one
};

}  // namespace paradl
