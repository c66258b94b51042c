#include <algorithm>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Layers whose weights are a table with a row of channels for each token, position, or token put in front.

namespace paradl::calibrate {
namespace {

// Embedding: x holds token ids as numbers (exact up to 2^24). They have no gradient.

/// The row of w[0] for an id, or -1 if another rank has it.
std::int64_t row_of(const LocalLayer& l, const LayerData& data, std::int64_t at) {
  const std::int64_t row = std::int64_t(data.x[0][at]) - data.first_row;
  return row >= 0 && row < l.rows ? row : -1;
}

void embedding_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t F = l.y_channels;
  for (std::int64_t at = 0; at < l.samples * l.x_positions(); ++at) {
    const std::int64_t row = row_of(l, data, at);
    if (row < 0)
      std::fill_n(data.y + at * F, F, 0.0f);
    else
      std::copy_n(data.w[0] + row * F, F, data.y + at * F);
  }
}

void embedding_backward_data(const LocalLayer& l, const LayerData& data) {
  if (data.dx[0]) std::fill_n(data.dx[0], l.x_items(), 0.0f);
}

void embedding_backward_weights(const LocalLayer& l, const LayerData& data) {
  const std::int64_t F = l.y_channels;
  std::fill_n(data.dw[0], l.rows * F, 0.0f);
  for (std::int64_t at = 0; at < l.samples * l.x_positions(); ++at)
    if (const std::int64_t row = row_of(l, data, at); row >= 0)
      add_scaled(data.dw[0] + row * F, 1.0f, data.dy + at * F, F);
}

// Position: adds row i modulo the table's rows at position i.

void position_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels, P = l.x_positions();
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t p = 0; p < P; ++p) {
      const float *x = data.x[0] + (n * P + p) * C, *w = data.w[0] + (data.first_row + p) % l.rows * C;
      float* y = data.y + (n * P + p) * C;
      for (std::int64_t c = 0; c < C; ++c) y[c] = x[c] + w[c];
    }
}

void position_backward_data(const LocalLayer& l, const LayerData& data) {
  if (data.dx[0]) std::copy_n(data.dy, l.x_items(), data.dx[0]);
}

void position_backward_weights(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels, P = l.x_positions();
  std::fill_n(data.dw[0], l.rows * C, 0.0f);
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t p = 0; p < P; ++p)
      add_scaled(data.dw[0] + (data.first_row + p) % l.rows * C, 1.0f, data.dy + (n * P + p) * C, C);
}

// Tokens: the table's rows, then all positions in one sequence.

void tokens_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels;
  for (std::int64_t n = 0; n < l.samples; ++n) {
    float* y = data.y + n * (front + rest);
    std::copy_n(data.w[0], front, y);
    std::copy_n(data.x[0] + n * rest, rest, y + front);
  }
}

void tokens_backward_data(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels;
  for (std::int64_t n = 0; n < l.samples; ++n)
    std::copy_n(data.dy + n * (front + rest) + front, rest, data.dx[0] + n * rest);
}

void tokens_backward_weights(const LocalLayer& l, const LayerData& data) {
  const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels;
  std::fill_n(data.dw[0], front, 0.0f);
  for (std::int64_t n = 0; n < l.samples; ++n)
    add_scaled(data.dw[0], 1.0f, data.dy + n * (front + rest), front);
}

}  // namespace

const Passes embedding_passes{embedding_forward, embedding_backward_data, embedding_backward_weights};
const Passes position_passes{position_forward, position_backward_data, position_backward_weights};
const Passes tokens_passes{tokens_forward, tokens_backward_data, tokens_backward_weights};

}  // namespace paradl::calibrate
