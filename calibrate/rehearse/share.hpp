#pragma once
#include <array>
#include <cstdint>

#include "calibrate/backend/box.hpp"
#include "paradl/strategy/placements.hpp"

namespace paradl::calibrate {

/// The coordinates of a rank on the axes of a mesh.
using Coordinates = std::array<int, most_axes>;
Coordinates coordinates_of(const Mesh& mesh, int rank);
/// The rank at coordinate `to` on one axis, and at `at` on the others.
int rank_at(const Mesh& mesh, const Coordinates& at, std::size_t axis, int to);

/// A whole tensor of `samples` samples.
Box whole_box(const Shape& shape, std::int64_t samples);

/// The part of a tensor that a rank has. Ranges are split axis by axis, as evenly as possible; the innermost
/// axis first, so that parts can be gathered from the outside in.
Box share_of(Box whole, const TensorPlacement& placement, const Mesh& mesh, const Coordinates& at);

/// Part `index` of `parts` of a range.
struct Range {
  std::int64_t begin = 0, end = 0;
};
Range part_of(Range range, int index, int parts);

}  // namespace paradl::calibrate
