#include <limits>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Pooling: the largest or the mean of each window, channel by channel.

namespace paradl::calibrate {
namespace {

// kept: which tap was the largest, the first of equals; -1 for a window without any.
std::size_t max_kept(const LocalLayer& l) { return std::size_t(l.y_items()); }

void max_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.y_channels;
  std::fill_n(data.y, l.y_items(), -std::numeric_limits<float>::infinity());
  std::fill_n(data.kept, l.y_items(), -1.0f);
  for_each_tap(l, [&](std::int64_t y_row, std::int64_t tap, std::int64_t x_row) {
    const float* x = data.x[0] + x_row * C;
    float *y = data.y + y_row * C, *kept = data.kept + y_row * C;
    const float t = float(tap);
    for (std::int64_t c = 0; c < C; ++c) {
      const float old = y[c], place = kept[c];
      kept[c] = x[c] > old ? t : place;
      y[c] = x[c] > old ? x[c] : old;
    }
  });
}

void max_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.y_channels;
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  for_each_tap(l, [&](std::int64_t y_row, std::int64_t tap, std::int64_t x_row) {
    float* dx = data.dx[0] + x_row * C;
    const float *dy = data.dy + y_row * C, *kept = data.kept + y_row * C;
    const float t = float(tap);
    for (std::int64_t c = 0; c < C; ++c) {
      const float gradient = dy[c];  // read in any case: no branch
      dx[c] += kept[c] == t ? gradient : 0.0f;
    }
  });
}

/// Padding counts: each tap has the same share.
float share(const LocalLayer& l) { return 1.0f / float(l.kernel[0] * l.kernel[1] * l.kernel[2]); }

void avg_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.y_channels;
  std::fill_n(data.y, l.y_items(), 0.0f);
  for_each_tap(l, [&, part = share(l)](std::int64_t y_row, std::int64_t, std::int64_t x_row) {
    add_scaled(data.y + y_row * C, part, data.x[0] + x_row * C, C);
  });
}

void avg_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.y_channels;
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  for_each_tap(l, [&, part = share(l)](std::int64_t y_row, std::int64_t, std::int64_t x_row) {
    add_scaled(data.dx[0] + x_row * C, part, data.dy + y_row * C, C);
  });
}

void global_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels, P = l.x_positions();
  std::fill_n(data.y, l.samples * C, 0.0f);
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t p = 0; p < P; ++p)
      add_scaled(data.y + n * C, 1.0f / float(P), data.x[0] + (n * P + p) * C, C);
}

void global_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.x_channels, P = l.x_positions();
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t p = 0; p < P; ++p)
      add_scaled(data.dx[0] + (n * P + p) * C, 1.0f / float(P), data.dy + n * C, C);
}

}  // namespace

const Passes max_pool_passes{.forward = max_forward, .backward_data = max_backward, .kept_items = max_kept};
const Passes avg_pool_passes{avg_forward, avg_backward};
const Passes global_pool_passes{global_forward, global_backward};

}  // namespace paradl::calibrate
