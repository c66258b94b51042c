// One step of the optimizers, on weights in 32 bits; `stored` is their 16-bit copy, or null.

const float rate = 0.01f, momentum_share = 0.9f, beta1 = 0.9f, beta2 = 0.999f;
const float adam_epsilon = 1e-8f, lamb_epsilon = 1e-6f, lamb_decay = 0.01f;

__device__ inline void store(T* stored, i64 i, float value) {
  if (stored) put(stored, i, value);
}
__device__ inline void moments(float g, float* m, float* v, i64 i) {
  m[i] = beta1 * m[i] + (1 - beta1) * g;
  v[i] = beta2 * v[i] + (1 - beta2) * g * g;
}
__device__ inline float lamb_step(const float* w, const float* m, const float* v, i64 i) {
  return m[i] / (sqrtf(v[i]) + lamb_epsilon) + lamb_decay * w[i];
}

extern "C" __global__ void sgd(i64 n, const T* g, float* w, T* stored) {
  each(n, [=](i64 i) {
    w[i] -= rate * get(g, i);
    store(stored, i, w[i]);
  });
}

extern "C" __global__ void momentum(i64 n, const T* g, float* w, T* stored, float* velocity) {
  each(n, [=](i64 i) {
    velocity[i] = momentum_share * velocity[i] + get(g, i);
    w[i] -= rate * velocity[i];
    store(stored, i, w[i]);
  });
}

extern "C" __global__ void adam(i64 n, const T* g, float* w, T* stored, float* m, float* v) {
  each(n, [=](i64 i) {
    moments(get(g, i), m, v, i);
    w[i] -= rate * m[i] / (sqrtf(v[i]) + adam_epsilon);
    store(stored, i, w[i]);
  });
}

/// sums: of squared weights, and of squared steps; initially zero
extern "C" __global__ void lamb_sums(i64 n, const T* g, const float* w, float* m, float* v, float* sums) {
  float weights = 0, steps = 0;
  each(n, [&](i64 i) {
    moments(get(g, i), m, v, i);
    const float step = lamb_step(w, m, v, i);
    weights += w[i] * w[i];
    steps += step * step;
  });
  const float all_weights = block_total(weights, Sum()), all_steps = block_total(steps, Sum());
  if (threadIdx.x == 0) {
    atomicAdd(sums, all_weights);
    atomicAdd(sums + 1, all_steps);
  }
}
extern "C" __global__ void lamb(i64 n, float* w, T* stored, const float* m, const float* v,
                                const float* sums) {
  const float trust = sums[0] > 0 && sums[1] > 0 ? sqrtf(sums[0]) / sqrtf(sums[1]) : 1.0f;
  each(n, [=](i64 i) {
    w[i] -= rate * trust * lamb_step(w, m, v, i);
    store(stored, i, w[i]);
  });
}
