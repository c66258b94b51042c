#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Convolution over up to three extents, in groups; a fully connected layer is one whose window is one
// position.
//
//   y[f] = bias[f] + sum over taps t and channels c of w[f, c, t] x[c at t]
//
// Group g makes filters gF ... gF+F-1 from channels gC ... gC+C-1.

namespace paradl::calibrate {
namespace {

struct Sizes {
  explicit Sizes(const LocalLayer& l)
      : groups(l.groups),
        taps(l.kernel[0] * l.kernel[1] * l.kernel[2]),
        C(l.x_channels / l.groups),
        F(l.y_channels / l.groups) {}
  std::int64_t groups, taps, C, F;

  /// Of a row of filters in the order group, tap, channel, filter: the order of the loops below.
  std::size_t packed(std::int64_t g, std::int64_t t, std::int64_t c) const {
    return std::size_t(((g * taps + t) * C + c) * F);
  }
  /// Calls visit(index in packed order, index in the order of LayerData) for every weight.
  template <class Visit>
  void for_each_weight(Visit visit) const {
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t f = 0; f < F; ++f)
        for (std::int64_t c = 0; c < C; ++c)
          for (std::int64_t t = 0; t < taps; ++t)
            visit(packed(g, t, c) + std::size_t(f), ((g * F + f) * C + c) * taps + t);
  }
  std::vector<float> pack(const float* w) const {
    std::vector<float> out(std::size_t(groups * taps * C * F));
    for_each_weight([&](std::size_t to, std::int64_t from) { out[to] = w[from]; });
    return out;
  }
};

void forward(const LocalLayer& l, const LayerData& data) {
  const Sizes s(l);
  const std::vector<float> w = s.pack(data.w[0]);
  for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row)
    for (std::int64_t f = 0; f < l.y_channels; ++f)
      data.y[row * l.y_channels + f] = data.w[1] ? data.w[1][f] : 0;
  for_each_tap(l, [&](std::int64_t y_row, std::int64_t t, std::int64_t x_row) {
    for (std::int64_t g = 0; g < s.groups; ++g) {
      const float* x = data.x[0] + x_row * l.x_channels + g * s.C;
      float* y = data.y + y_row * l.y_channels + g * s.F;
      for (std::int64_t c = 0; c < s.C; ++c) add_scaled(y, x[c], &w[s.packed(g, t, c)], s.F);
    }
  });
}

void backward_data(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const Sizes s(l);
  const std::vector<float> w = s.pack(data.w[0]);
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  for_each_tap(l, [&](std::int64_t y_row, std::int64_t t, std::int64_t x_row) {
    for (std::int64_t g = 0; g < s.groups; ++g) {
      float* dx = data.dx[0] + x_row * l.x_channels + g * s.C;
      const float* dy = data.dy + y_row * l.y_channels + g * s.F;
      for (std::int64_t c = 0; c < s.C; ++c) dx[c] += dot(dy, &w[s.packed(g, t, c)], s.F);
    }
  });
}

void backward_weights(const LocalLayer& l, const LayerData& data) {
  const Sizes s(l);
  std::vector<float> dw(std::size_t(s.groups * s.taps * s.C * s.F));
  for_each_tap(l, [&](std::int64_t y_row, std::int64_t t, std::int64_t x_row) {
    for (std::int64_t g = 0; g < s.groups; ++g) {
      const float* x = data.x[0] + x_row * l.x_channels + g * s.C;
      const float* dy = data.dy + y_row * l.y_channels + g * s.F;
      for (std::int64_t c = 0; c < s.C; ++c) add_scaled(&dw[s.packed(g, t, c)], x[c], dy, s.F);
    }
  });
  s.for_each_weight([&](std::size_t from, std::int64_t to) { data.dw[0][to] = dw[from]; });

  if (!data.dw[1]) return;
  ChannelSums sums(l.y_channels);
  for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row)
    add_scaled(sums.row(), 1.0f, data.dy + row * l.y_channels, l.y_channels);
  sums.store(data.dw[1]);
}

}  // namespace

const Passes product_passes{forward, backward_data, backward_weights};

}  // namespace paradl::calibrate
