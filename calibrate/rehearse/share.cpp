#include "calibrate/rehearse/share.hpp"

namespace paradl::calibrate {
namespace {

constexpr std::size_t sample = 0, first_extent = 1, channel = 4;  // dimensions of an activation's box

void cut(Box& box, std::size_t dimension, int index, int parts) {
  const Range part = part_of({box.begin[dimension], box.end[dimension]}, index, parts);
  box.begin[dimension] = part.begin;
  box.end[dimension] = part.end;
}

/// Parts of space are numbered with the last extent fastest.
void cut_space(Box& box, int index, const Parts& parts) {
  for (std::size_t d = 3; d-- > 0;) {
    cut(box, first_extent + d, index % parts.cut[d], parts.cut[d]);
    index /= parts.cut[d];
  }
}

}  // namespace

Coordinates coordinates_of(const Mesh& mesh, int rank) {
  Coordinates at{};
  for (int a = 0; a < mesh.axes; ++a)
    at[std::size_t(a)] = rank / int(mesh.stride(a)) % mesh.axis[std::size_t(a)].parts.total;
  return at;
}

int rank_at(const Mesh& mesh, const Coordinates& at, std::size_t axis, int to) {
  int rank = 0;
  for (int a = 0; a < mesh.axes; ++a)
    rank += (std::size_t(a) == axis ? to : at[std::size_t(a)]) * int(mesh.stride(a));
  return rank;
}

Box whole_box(const Shape& shape, std::int64_t samples) {
  Box box;
  box.end[sample] = samples;
  for (std::size_t d = 0; d < 3; ++d) box.end[first_extent + d] = std::int64_t(shape.extent[d]);
  box.end[channel] = std::int64_t(shape.channels);
  return box;
}

Range part_of(Range range, int index, int parts) {
  const std::int64_t length = range.end - range.begin;
  return {range.begin + length * index / parts, range.begin + length * (index + 1) / parts};
}

Box share_of(Box box, const TensorPlacement& placement, const Mesh& mesh, const Coordinates& at) {
  for (auto a = std::size_t(mesh.axes); a-- > 0;) {
    const Parts& parts = mesh.axis[a].parts;
    if (placement[a] == Placement::split_sample) cut(box, sample, at[a], parts.total);
    if (placement[a] == Placement::split_channel) cut(box, channel, at[a], parts.total);
    if (placement[a] == Placement::split_space) cut_space(box, at[a], parts);
  }
  return box;
}

}  // namespace paradl::calibrate
