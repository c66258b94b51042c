#include <cmath>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/plain.hpp"

namespace paradl::calibrate {
namespace {

// The constants of the optimizers' papers and of the frameworks' defaults.
constexpr float rate = 0.01f;
constexpr float momentum = 0.9f;
constexpr float beta1 = 0.9f, beta2 = 0.999f;
constexpr float adam_epsilon = 1e-8f, lamb_epsilon = 1e-6f;
constexpr float lamb_decay = 0.01f;

void moments(std::int64_t items, const float* g, float* m, float* v) {
  for (std::int64_t i = 0; i < items; ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
  }
}

void sgd(std::int64_t items, float* w, const float* g, float*) { add_scaled(w, -rate, g, items); }

void sgd_with_momentum(std::int64_t items, float* w, const float* g, float* velocity) {
  for (std::int64_t i = 0; i < items; ++i) {
    velocity[i] = momentum * velocity[i] + g[i];
    w[i] -= rate * velocity[i];
  }
}

void adam(std::int64_t items, float* w, const float* g, float* state) {
  float *m = state, *v = state + items;
  for (std::int64_t i = 0; i < items; ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    w[i] -= rate * m[i] / (std::sqrt(v[i]) + adam_epsilon);
  }
}

/// Adam's step with decay, at a length in proportion to that of the weights.
void lamb(std::int64_t items, float* w, const float* g, float* state) {
  float *m = state, *v = state + items;
  moments(items, g, m, v);
  const auto step = [=](std::int64_t i) {
    return m[i] / (std::sqrt(v[i]) + lamb_epsilon) + lamb_decay * w[i];
  };
  const float w_norm = std::sqrt(dot(w, w, items));
  const float step_norm = std::sqrt(sum(items, [&](std::int64_t i) { return step(i) * step(i); }));
  const float trust = w_norm > 0 && step_norm > 0 ? w_norm / step_norm : 1.0f;
  for (std::int64_t i = 0; i < items; ++i) w[i] -= rate * trust * step(i);
}

}  // namespace

void PlainDevice::update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) {
  constexpr std::array steps{sgd, sgd_with_momentum, adam, lamb};
  static_assert(steps.size() == optimizer_names.size(), "one for each Optimizer");
  steps[std::size_t(optimizer)](std::int64_t(items), w, dw, state);
}

}  // namespace paradl::calibrate
