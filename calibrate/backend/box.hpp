#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace paradl::calibrate {

/// A part of a tensor: a range along each of five dimensions, in numbers of the whole tensor. Activations are
/// sample, extent, extent, extent, channel; weights are filter, channel, tap, tap, tap.
struct Box {
  std::array<std::int64_t, 5> begin{}, end{1, 1, 1, 1, 1};

  std::int64_t length(std::size_t d) const { return end[d] - begin[d]; }
  bool empty() const {
    for (std::size_t d = 0; d < 5; ++d)
      if (length(d) <= 0) return true;
    return false;
  }
  std::size_t items() const {
    if (empty()) return 0;
    std::int64_t n = 1;
    for (std::size_t d = 0; d < 5; ++d) n *= length(d);
    return std::size_t(n);
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// The intersection of two boxes, which may be empty.
inline Box common(const Box& a, const Box& b) {
  Box out;
  for (std::size_t d = 0; d < 5; ++d) {
    out.begin[d] = std::max(a.begin[d], b.begin[d]);
    out.end[d] = std::min(a.end[d], b.end[d]);
  }
  return out;
}

}  // namespace paradl::calibrate
