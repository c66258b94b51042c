#include "calibrate/backend/synthetic.hpp"

#include <cmath>
#include <vector>

namespace paradl::calibrate {

/// The finalizer of splitmix64: neighbouring positions give unrelated numbers.
float Synthetic::at(std::uint64_t index) const {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  const double even = double((z ^ (z >> 31)) >> 11) * 0x1p-53;  // from 0 to 1
  if (integers > 0) return float(std::floor(even * integers));
  return float(mean + spread * (2 * even - 1));
}

void fill(Device& device, const Piece& piece, const Box& whole, const Synthetic& values) {
  std::vector<float> numbers;
  numbers.reserve(piece.box.items());
  const Box& b = piece.box;
  std::array<std::int64_t, 5> i{};
  for (i[0] = b.begin[0]; i[0] < b.end[0]; ++i[0])
    for (i[1] = b.begin[1]; i[1] < b.end[1]; ++i[1])
      for (i[2] = b.begin[2]; i[2] < b.end[2]; ++i[2])
        for (i[3] = b.begin[3]; i[3] < b.end[3]; ++i[3])
          for (i[4] = b.begin[4]; i[4] < b.end[4]; ++i[4]) {
            std::int64_t index = 0;
            for (std::size_t d = 0; d < 5; ++d) index = index * whole.length(d) + i[d];
            numbers.push_back(values.at(std::uint64_t(index)));
          }
  device.write(piece.data, numbers);
}

}  // namespace paradl::calibrate
