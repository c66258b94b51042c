#include <algorithm>
#include <cmath>
#include <numbers>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Activations, item by item. Their backward passes read x or y (OpTraits::keeps).

namespace paradl::calibrate {
namespace {

float logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }

struct Relu {
  static float value(float x) { return x > 0 ? x : 0.0f; }
  static float slope_from_y(float y) { return y > 0 ? 1.0f : 0.0f; }
};
struct Tanh {
  static float value(float x) { return std::tanh(x); }
  static float slope_from_y(float y) { return 1.0f - y * y; }
};
struct Sigmoid {
  static float value(float x) { return logistic(x); }
  static float slope_from_y(float y) { return y * (1.0f - y); }
};
/// x times the normal distribution's probability up to x: the exact form, with erf.
struct Gelu {
  static float up_to(float x) { return 0.5f * (1.0f + std::erf(x / std::numbers::sqrt2_v<float>)); }
  static float value(float x) { return x * up_to(x); }
  static float slope_from_x(float x) {
    const float density =
        std::exp(-0.5f * x * x) * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
    return up_to(x) + x * density;
  }
};
struct Silu {
  static float value(float x) { return x * logistic(x); }
  static float slope_from_x(float x) {
    const float s = logistic(x);
    return s * (1.0f + x * (1.0f - s));
  }
};

template <class Activation>
void forward(const LocalLayer& l, const LayerData& data) {
  const float* x = data.x[0];
  for (std::int64_t i = 0; i < l.y_items(); ++i) data.y[i] = Activation::value(x[i]);
}

template <class Activation>
void backward_from_x(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const float* x = data.x[0];
  float* dx = data.dx[0];
  for (std::int64_t i = 0; i < l.y_items(); ++i) dx[i] = data.dy[i] * Activation::slope_from_x(x[i]);
}

template <class Activation>
void backward_from_y(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  float* dx = data.dx[0];
  for (std::int64_t i = 0; i < l.y_items(); ++i) dx[i] = data.dy[i] * Activation::slope_from_y(data.y[i]);
}

// Gate: in each pair of channels, the first times the silu of the second.

void gate_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.y_channels;
  for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row) {
    const float* x = data.x[0] + row * 2 * C;
    float* y = data.y + row * C;
    for (std::int64_t c = 0; c < C; ++c) y[c] = x[2 * c] * Silu::value(x[2 * c + 1]);
  }
}

void gate_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.y_channels;
  for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row) {
    const float *x = data.x[0] + row * 2 * C, *dy = data.dy + row * C;
    float* dx = data.dx[0] + row * 2 * C;
    for (std::int64_t c = 0; c < C; ++c) {
      dx[2 * c] = dy[c] * Silu::value(x[2 * c + 1]);
      dx[2 * c + 1] = dy[c] * x[2 * c] * Silu::slope_from_x(x[2 * c + 1]);
    }
  }
}

// Softmax over the channels of each position.

void softmax_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels;
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row) {
    const float* x = data.x[0] + row * C;
    float* y = data.y + row * C;
    const float largest = *std::max_element(x, x + C);
    for (std::int64_t c = 0; c < C; ++c) y[c] = std::exp(x[c] - largest);
    const float scale = 1.0f / sum(C, [y](std::int64_t c) { return y[c]; });
    for (std::int64_t c = 0; c < C; ++c) y[c] *= scale;
  }
}

void softmax_backward(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.x_channels;
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row)
    softmax_gradient(data.dx[0] + row * C, data.y + row * C, data.dy + row * C, C);
}

}  // namespace

const Passes relu_passes{forward<Relu>, backward_from_y<Relu>};
const Passes gelu_passes{forward<Gelu>, backward_from_x<Gelu>};
const Passes silu_passes{forward<Silu>, backward_from_x<Silu>};
const Passes tanh_passes{forward<Tanh>, backward_from_y<Tanh>};
const Passes sigmoid_passes{forward<Sigmoid>, backward_from_y<Sigmoid>};
const Passes gate_passes{gate_forward, gate_backward};
const Passes softmax_passes{softmax_forward, softmax_backward};

}  // namespace paradl::calibrate
