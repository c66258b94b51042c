// Activations, item by item. Slopes are computed from x or y, depending on which one a layer keeps.

__device__ inline float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float normal_up_to(float x) { return 0.5f * (1.0f + erff(x * 0.70710678f)); }
__device__ inline float silu_slope(float x) {
  const float s = logistic(x);
  return s * (1.0f + x * (1.0f - s));
}

extern "C" __global__ void relu_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, get(x, i) > 0 ? get(x, i) : 0.0f); });
}
extern "C" __global__ void relu_backward(i64 n, const T* y, const T* dy, T* dx) {
  each(n, [=](i64 i) { put(dx, i, get(y, i) > 0 ? get(dy, i) : 0.0f); });
}

extern "C" __global__ void gelu_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, get(x, i) * normal_up_to(get(x, i))); });
}
extern "C" __global__ void gelu_backward(i64 n, const T* x, const T* dy, T* dx) {
  each(n, [=](i64 i) {
    const float v = get(x, i), density = 0.39894228f * expf(-0.5f * v * v);
    put(dx, i, get(dy, i) * (normal_up_to(v) + v * density));
  });
}

extern "C" __global__ void silu_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, get(x, i) * logistic(get(x, i))); });
}
extern "C" __global__ void silu_backward(i64 n, const T* x, const T* dy, T* dx) {
  each(n, [=](i64 i) { put(dx, i, get(dy, i) * silu_slope(get(x, i))); });
}

extern "C" __global__ void tanh_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, tanhf(get(x, i))); });
}
extern "C" __global__ void tanh_backward(i64 n, const T* y, const T* dy, T* dx) {
  each(n, [=](i64 i) { put(dx, i, get(dy, i) * (1.0f - get(y, i) * get(y, i))); });
}

extern "C" __global__ void sigmoid_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, logistic(get(x, i))); });
}
extern "C" __global__ void sigmoid_backward(i64 n, const T* y, const T* dy, T* dx) {
  each(n, [=](i64 i) { put(dx, i, get(dy, i) * get(y, i) * (1.0f - get(y, i))); });
}

/// Gate: x has pairs (factor, value), and y = factor * silu(value). n is the number of items of y.
extern "C" __global__ void gate_forward(i64 n, const T* x, T* y) {
  each(n, [=](i64 i) { put(y, i, get(x, 2 * i) * get(x, 2 * i + 1) * logistic(get(x, 2 * i + 1))); });
}
extern "C" __global__ void gate_backward(i64 n, const T* x, const T* dy, T* dx) {
  each(n, [=](i64 i) {
    const float a = get(x, 2 * i), b = get(x, 2 * i + 1), d = get(dy, i);
    put(dx, 2 * i, d * b * logistic(b));
    put(dx, 2 * i + 1, d * a * silu_slope(b));
  });
}

extern "C" __global__ void add_bias(i64 n, i64 channels, const T* bias, T* y) {
  each(n, [=](i64 i) { put(y, i, get(y, i) + get(bias, i % channels)); });
}
extern "C" __global__ void bias_sums(i64 rows, i64 channels, i64 chunks, const T* dy, float* sums) {
  column_sums(rows, channels, chunks, sums, (float*)0,
              [=](i64 row, i64 c, float& a, float&) { a = get(dy, row * channels + c); });
}

// Softmax of each row over its first `seen` numbers: all of them, or in causal attention those up to the row's own
// position. Input and output may be the same.

extern "C" __global__ void softmax_forward(i64 rows, i64 width, i64 causal, const T* x, T* y) {
  each_by_block(rows, [=](i64 row) {
    const i64 seen = causal ? row % width + 1 : width;
    const T* from = x + row * width;
    T* to = y + row * width;
    float mine = get(from, 0);
    for (i64 i = threadIdx.x; i < seen; i += blockDim.x) mine = Larger()(mine, get(from, i));
    const float largest = block_total(mine, Larger());
    const float total = block_sum(seen, [=](i64 i) { return expf(get(from, i) - largest); });
    for (i64 i = threadIdx.x; i < width; i += blockDim.x)
      put(to, i, i < seen ? expf(get(from, i) - largest) / total : 0.0f);
    __syncthreads();
  });
}
extern "C" __global__ void softmax_backward(i64 rows, i64 width, const T* y, const T* dy, T* dx) {
  each_by_block(rows, [=](i64 row) {
    const i64 at = row * width;
    const float mean = block_sum(width, [=](i64 i) { return get(y, at + i) * get(dy, at + i); });
    for (i64 i = threadIdx.x; i < width; i += blockDim.x)
      put(dx, at + i, get(y, at + i) * (get(dy, at + i) - mean));
  });
}
