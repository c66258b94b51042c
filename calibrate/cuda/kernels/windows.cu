// Pooling over up to three extents, with channels innermost.

struct Window {
  i64 channels, x[3], y[3], kernel[3], stride[3], dilation[3], padding[3];
};

/// Calls visit(tap, item of x) for all taps inside x of the window of item i of y.
template <class F>
__device__ inline void each_tap(const Window& w, i64 i, F visit) {
  const i64 c = i % w.channels;
  i64 rest = i / w.channels, at[3];
  for (int d = 2; d >= 0; --d) {
    at[d] = rest % w.y[d] * w.stride[d] - w.padding[d];
    rest /= w.y[d];
  }
  i64 tap = 0;
  for (i64 k0 = 0; k0 < w.kernel[0]; ++k0)
    for (i64 k1 = 0; k1 < w.kernel[1]; ++k1)
      for (i64 k2 = 0; k2 < w.kernel[2]; ++k2, ++tap) {
        const i64 x0 = at[0] + k0 * w.dilation[0], x1 = at[1] + k1 * w.dilation[1],
                  x2 = at[2] + k2 * w.dilation[2];
        if (x0 < 0 || x0 >= w.x[0] || x1 < 0 || x1 >= w.x[1] || x2 < 0 || x2 >= w.x[2]) continue;
        visit(tap, (((rest * w.x[0] + x0) * w.x[1] + x1) * w.x[2] + x2) * w.channels + c);
      }
}

/// The window along one extent that has row `x` at tap `k`; -1 if there is none.
__device__ inline i64 window_of(const Window& w, int d, i64 x, i64 k) {
  const i64 from = x + w.padding[d] - k * w.dilation[d];
  if (from < 0 || from % w.stride[d] != 0 || from / w.stride[d] >= w.y[d]) return -1;
  return from / w.stride[d];
}

/// Calls visit(tap, item of y) for all windows that contain item i of x.
template <class F>
__device__ inline void each_window(const Window& w, i64 i, F visit) {
  const i64 c = i % w.channels;
  i64 rest = i / w.channels, at[3];
  for (int d = 2; d >= 0; --d) {
    at[d] = rest % w.x[d];
    rest /= w.x[d];
  }
  for (i64 k0 = 0; k0 < w.kernel[0]; ++k0) {
    const i64 y0 = window_of(w, 0, at[0], k0);
    if (y0 < 0) continue;
    for (i64 k1 = 0; k1 < w.kernel[1]; ++k1) {
      const i64 y1 = window_of(w, 1, at[1], k1);
      if (y1 < 0) continue;
      for (i64 k2 = 0; k2 < w.kernel[2]; ++k2) {
        const i64 y2 = window_of(w, 2, at[2], k2);
        if (y2 < 0) continue;
        visit((k0 * w.kernel[1] + k1) * w.kernel[2] + k2,
              (((rest * w.y[0] + y0) * w.y[1] + y1) * w.y[2] + y2) * w.channels + c);
      }
    }
  }
}

/// kept: the tap of the largest value, the first one if several are equal; -1 for a window without taps.
extern "C" __global__ void max_pool_forward(i64 n, Window w, const T* x, T* y, float* kept) {
  each(n, [=](i64 i) {
    float largest = -__int_as_float(0x7f800000), place = -1;
    each_tap(w, i, [&](i64 tap, i64 at) {
      const float value = get(x, at);
      if (!(value > largest)) return;
      largest = value;
      place = (float)tap;
    });
    put(y, i, largest);
    kept[i] = place;
  });
}
extern "C" __global__ void max_pool_backward(i64 n, Window w, const T* dy, const float* kept, T* dx) {
  each(n, [=](i64 i) {
    float sum = 0;
    each_window(w, i, [&](i64 tap, i64 at) { sum += kept[at] == (float)tap ? get(dy, at) : 0.0f; });
    put(dx, i, sum);
  });
}

/// Padding counts: each tap of a window has the same share.
extern "C" __global__ void avg_pool_forward(i64 n, Window w, float share, const T* x, T* y) {
  each(n, [=](i64 i) {
    float sum = 0;
    each_tap(w, i, [&](i64, i64 at) { sum += get(x, at); });
    put(y, i, sum * share);
  });
}
extern "C" __global__ void avg_pool_backward(i64 n, Window w, float share, const T* dy, T* dx) {
  each(n, [=](i64 i) {
    float sum = 0;
    each_window(w, i, [&](i64, i64 at) { sum += get(dy, at); });
    put(dx, i, sum * share);
  });
}

extern "C" __global__ void global_pool_forward(i64 n, i64 positions, i64 channels, const T* x, T* y) {
  each(n, [=](i64 i) {
    const i64 first = i / channels * positions * channels + i % channels;
    float sum = 0;
    for (i64 p = 0; p < positions; ++p) sum += get(x, first + p * channels);
    put(y, i, sum / (float)positions);
  });
}
extern "C" __global__ void global_pool_backward(i64 n, i64 positions, i64 channels, const T* dy, T* dx) {
  each(n, [=](i64 i) {
    const i64 sample = i / (positions * channels);
    put(dx, i, get(dy, sample * channels + i % channels) / (float)positions);
  });
}
