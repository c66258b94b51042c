#pragma once
#include <array>
#include <cstdint>

#include "paradl/machine/machine.hpp"
#include "paradl/network/collective.hpp"

namespace paradl {

struct Strategy;

/// Into how many parts an axis cuts; `cut` says along which extents, for a strategy that cuts space.
struct Parts {
  int total = 1;
  std::array<int, 3> cut{1, 1, 1};
  friend bool operator==(const Parts&, const Parts&) = default;
};

/// One axis of the mesh.
struct Axis {
  const Strategy* strategy = nullptr;
  Parts parts;
};

/// A set of axes, as bits by their position in the mesh.
using AxisSet = std::uint8_t;
inline constexpr int most_axes = 8;
constexpr AxisSet axis_bit(int axis) { return AxisSet(1u << axis); }

/// GPUs with coordinates: axes outermost first, so that the last one sits on the closest GPUs.
struct Mesh {
  std::array<Axis, most_axes> axis;
  int axes = 0;

  double gpus() const;
  /// Neighbours along this axis are so many GPUs apart.
  double stride(int axis_index) const;
};

/// How the groups formed by a set of axes are spread over the machine, and how many flows share each port,
/// when all groups of that kind exchange at the same time.
Path group_path(const Mesh& mesh, AxisSet set, const Machine& machine);

/// One ring through all PEs of a group, in place of a ring on every level: it is as slow as its slowest link,
/// on which a node's rings share its ports; fewer rings than ports are spread over all of them, as NCCL
/// spreads its channels.
Path flat_path(const Mesh& mesh, AxisSet set, const Machine& machine);

/// The same for messages between neighbours along one axis: only GPUs at the edge of a unit send out of it.
/// `dim` is the extent that they have in common, for an axis that cuts space; -1 for the axis as a whole.
Path neighbour_path(const Mesh& mesh, int axis, int dim, const Machine& machine);

/// The axes that split anything: one PE on an axis changes nothing.
Mesh without_ones(const Mesh& mesh);

}  // namespace paradl
