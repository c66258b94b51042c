#include <algorithm>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Layers that compute nothing or next to nothing.

namespace paradl::calibrate {
namespace {

// Dropout at a rate of zero, which takes the time of any other rate but for the random numbers; and the loss,
// whose gradient comes from outside.

void copy_forward(const LocalLayer& l, const LayerData& data) { std::copy_n(data.x[0], l.y_items(), data.y); }
void copy_backward(const LocalLayer& l, const LayerData& data) {
  if (data.dx[0]) std::copy_n(data.dy, l.y_items(), data.dx[0]);
}

void add_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t items = l.y_items();
  std::copy_n(data.x[0], items, data.y);
  for (std::size_t i = 1; i < data.x.size(); ++i) add_scaled(data.y, 1.0f, data.x[i], items);
}
void add_backward(const LocalLayer& l, const LayerData& data) {
  for (float* dx : data.dx)
    if (dx) std::copy_n(data.dy, l.y_items(), dx);
}

void concat_forward(const LocalLayer& l, const LayerData& data) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    const std::int64_t C = data.x_channels[i];
    for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row)
      std::copy_n(data.x[i] + row * C, C, data.y + row * l.y_channels + first);
    first += C;
  }
}
void concat_backward(const LocalLayer& l, const LayerData& data) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < data.dx.size(); ++i) {
    const std::int64_t C = data.x_channels[i];
    if (data.dx[i])
      for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row)
        std::copy_n(data.dy + row * l.y_channels + first, C, data.dx[i] + row * C);
    first += C;
  }
}

/// to: columns x rows, from: rows x columns
void transpose(float* to, const float* from, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) to[column * rows + row] = from[row * columns + column];
}

void flatten_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels, P = l.x_positions();
  for (std::int64_t n = 0; n < l.samples; ++n) transpose(data.y + n * P * C, data.x[0] + n * P * C, P, C);
}
void flatten_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.x_channels, P = l.x_positions();
  for (std::int64_t n = 0; n < l.samples; ++n) transpose(data.dx[0] + n * P * C, data.dy + n * P * C, C, P);
}

void select_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels, P = l.x_positions();
  for (std::int64_t n = 0; n < l.samples; ++n) std::copy_n(data.x[0] + n * P * C, C, data.y + n * C);
}
void select_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.x_channels, P = l.x_positions();
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  for (std::int64_t n = 0; n < l.samples; ++n) std::copy_n(data.dy + n * C, C, data.dx[0] + n * P * C);
}

}  // namespace

const Passes copy_passes{copy_forward, copy_backward};
const Passes add_passes{add_forward, add_backward};
const Passes concat_passes{concat_forward, concat_backward};
const Passes flatten_passes{flatten_forward, flatten_backward};
const Passes select_passes{select_forward, select_backward};

}  // namespace paradl::calibrate
