#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "paradl/machine/machine.hpp"
#include "paradl/network/collective.hpp"

namespace paradl {

struct Strategy;

/// The number of parts that an axis cuts into. If the strategy cuts space, `cut` has the parts by extent.
struct Parts {
  int total = 1;
  std::array<int, 3> cut{1, 1, 1};
  friend bool operator==(const Parts&, const Parts&) = default;
};

/// One axis of the mesh.
struct Axis {
  const Strategy* strategy = nullptr;
  Parts parts;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A set of axes, as bits by their position in the mesh.
using AxisSet = std::uint8_t;
inline constexpr int most_axes = 8;
constexpr AxisSet axis_bit(int axis) { return AxisSet(1u << axis); }

/// GPUs with coordinates. Axes are listed outermost first: GPUs that are neighbours on the last axis are
/// closest in the machine.
struct Mesh {
  std::array<Axis, most_axes> axis;
  int axes = 0;

  std::span<const Axis> all() const { return std::span(axis).first(std::size_t(axes)); }
  double gpus() const;
  /// The distance, in GPUs, between neighbours along this axis.
  double stride(int axis_index) const;
  friend bool operator==(const Mesh& a, const Mesh& b) {
    return std::equal(a.axis.begin(), a.axis.begin() + a.axes, b.axis.begin(), b.axis.begin() + b.axes);
  }
};

/// How the groups formed by a set of axes are spread over the machine, and how many flows share each port
/// when all these groups communicate at the same time.
Path group_path(const Mesh& mesh, AxisSet set, const Machine& machine);

/// One ring through all GPUs of a group, instead of a ring on every level. It is as slow as its slowest link,
/// where the rings of a node share its ports. If there are fewer rings than ports, each ring uses several
/// ports, as NCCL spreads its channels.
Path flat_path(const Mesh& mesh, AxisSet set, const Machine& machine);

/// The path of messages between neighbours along one axis: only GPUs at the edge of a unit send out of it.
/// `dim` is the extent along which they are neighbours, if the axis cuts space; -1: the axis as a whole.
Path neighbour_path(const Mesh& mesh, int axis, int dim, const Machine& machine);

/// The mesh without axes of one GPU, which change nothing.
Mesh without_ones(const Mesh& mesh);

}  // namespace paradl
