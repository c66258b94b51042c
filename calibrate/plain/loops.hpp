#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "paradl/spec/local_layer.hpp"

// Shared by the loops of the operations. Channels are contiguous in memory, so the innermost loops run over
// them, without branches, and compilers vectorize them.

namespace paradl::calibrate {

/// to += factor * from
inline void add_scaled(float* to, float factor, const float* from, std::int64_t items) {
  for (std::int64_t i = 0; i < items; ++i) to[i] += factor * from[i];
}

/// The sum of term(i) for i < items, in lanes, because compilers may not reorder floating-point sums.
template <class Term>
float sum(std::int64_t items, Term term) {
  constexpr std::int64_t lanes = 16;
  std::array<float, lanes> part{};
  std::int64_t i = 0;
  for (; i + lanes <= items; i += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) part[std::size_t(k)] += term(i + k);
  for (; i < items; ++i) part[0] += term(i);
  float total = 0;
  for (const float p : part) total += p;
  return total;
}

inline float dot(const float* a, const float* b, std::int64_t items) {
  return sum(items, [&](std::int64_t i) { return a[i] * b[i]; });
}

/// Of one row of a softmax: dx = y (dy - y . dy). dx may be dy.
inline void softmax_gradient(float* dx, const float* y, const float* dy, std::int64_t items) {
  const float mean = dot(y, dy, items);
  for (std::int64_t i = 0; i < items; ++i) dx[i] = y[i] * (dy[i] - mean);
}

/// Sums by channel over very many rows: in single precision for a few rows, which is fast, in double
/// precision over all of them, which is exact enough.
class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t channels) : few_(std::size_t(channels)), all_(std::size_t(channels)) {}

  /// The sums to which the next row is added.
  float* row() {
    if (++rows_ % 64 == 0) flush();
    return few_.data();
  }
  void store(float* to) {
    flush();
    std::transform(all_.begin(), all_.end(), to, [](double total) { return float(total); });
  }

 private:
  void flush() {
    for (std::size_t c = 0; c < few_.size(); ++c) all_[c] += double(few_[c]);
    std::fill(few_.begin(), few_.end(), 0.0f);
  }

  std::vector<float> few_;
  std::vector<double> all_;
  std::int64_t rows_ = 0;
};

/// The taps of a window inside x along one extent, and the position of the first tap.
struct Taps {
  std::int64_t begin, end, origin;
};

inline Taps taps_inside(const LocalLayer& layer, std::size_t d, std::int64_t y) {
  const std::int64_t origin = y * layer.stride[d] - layer.padding[d], step = layer.dilation[d];
  const std::int64_t begin = origin < 0 ? (-origin + step - 1) / step : 0;
  const std::int64_t end = origin < layer.x_extent[d] ? (layer.x_extent[d] - 1 - origin) / step + 1 : 0;
  return {begin, std::min(end, layer.kernel[d]), origin};
}

/// Calls visit(row of y, tap, row of x) for every tap of every window inside x, window by window. A
/// row is the channels of one position; rows are counted over all samples.
template <class Visit>
void for_each_tap(const LocalLayer& l, Visit visit) {
  std::int64_t y_row = 0;
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t y0 = 0; y0 < l.y_extent[0]; ++y0)
      for (std::int64_t y1 = 0; y1 < l.y_extent[1]; ++y1)
        for (std::int64_t y2 = 0; y2 < l.y_extent[2]; ++y2, ++y_row) {
          const Taps t0 = taps_inside(l, 0, y0), t1 = taps_inside(l, 1, y1), t2 = taps_inside(l, 2, y2);
          for (std::int64_t k0 = t0.begin; k0 < t0.end; ++k0)
            for (std::int64_t k1 = t1.begin; k1 < t1.end; ++k1)
              for (std::int64_t k2 = t2.begin; k2 < t2.end; ++k2) {
                const std::int64_t x0 = t0.origin + k0 * l.dilation[0], x1 = t1.origin + k1 * l.dilation[1],
                                   x2 = t2.origin + k2 * l.dilation[2];
                visit(y_row, (k0 * l.kernel[1] + k1) * l.kernel[2] + k2,
                      ((n * l.x_extent[0] + x0) * l.x_extent[1] + x1) * l.x_extent[2] + x2);
              }
        }
}

}  // namespace paradl::calibrate
