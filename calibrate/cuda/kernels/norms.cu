// Normalisation: y = factor * z + addend with z = (x - mean) r and r = 1 / sqrt(variance + epsilon).
//
//   dx = r (g - mean of g - z * mean of g z)    g = factor * dy

__device__ inline float factor(const T* w, i64 c) { return w ? get(w, c) : 1.0f; }
__device__ inline float addend(const T* w, i64 c) { return w ? get(w, c) : 0.0f; }
const float epsilon = 1e-5f;

// Batch norm: a channel over all samples and positions. `kept` has a channel's mean at c and its r at
// channels + c.

extern "C" __global__ void batch_sums(i64 rows, i64 channels, i64 chunks, const T* x, float* statistics) {
  column_sums(rows, channels, chunks, statistics, statistics + channels,
              [=](i64 row, i64 c, float& sum, float& squares) {
                const float value = get(x, row * channels + c);
                sum = value;
                squares = value * value;
              });
}

extern "C" __global__ void batch_moments(i64 channels, float counted, const float* statistics, float* kept) {
  each(channels, [=](i64 c) {
    const double mean = (double)statistics[c] / (double)counted;
    const double variance = (double)statistics[channels + c] / (double)counted - mean * mean;
    kept[c] = (float)mean;
    kept[channels + c] = 1.0f / sqrtf((float)(variance > 0 ? variance : 0.0) + epsilon);
  });
}

extern "C" __global__ void batch_forward(i64 n, i64 channels, const T* x, const float* kept, const T* w0,
                                         const T* w1, T* y) {
  each(n, [=](i64 i) {
    const i64 c = i % channels;
    put(y, i, (get(x, i) - kept[c]) * kept[channels + c] * factor(w0, c) + addend(w1, c));
  });
}

extern "C" __global__ void batch_backward_sums(i64 rows, i64 channels, i64 chunks, const T* x, const T* dy,
                                               const float* kept, float* statistics) {
  column_sums(rows, channels, chunks, statistics, statistics + channels,
              [=](i64 row, i64 c, float& sum, float& products) {
                const i64 i = row * channels + c;
                sum = get(dy, i);
                products = sum * (get(x, i) - kept[c]) * kept[channels + c];
              });
}

extern "C" __global__ void batch_backward(i64 n, i64 channels, float counted, const T* x, const T* dy,
                                          const float* kept, const float* statistics, const T* w0, T* dx) {
  each(n, [=](i64 i) {
    const i64 c = i % channels;
    const float r = kept[channels + c], z = (get(x, i) - kept[c]) * r;
    const float mean_dy = statistics[c] / counted, mean_dyz = statistics[channels + c] / counted;
    put(dx, i, factor(w0, c) * r * (get(dy, i) - mean_dy - z * mean_dyz));
  });
}

// Other norms: `rows` rows of `width` channels are normalised together, with `groups` such blocks side by side.
// Layer and rms norm are group norms of one group whose samples are the positions; rms norm is not centred.
// `kept` has mean and r of each block.

struct Blocks {
  i64 samples, rows, groups, width, centred;
};
__device__ inline i64 item_of(const Blocks& b, i64 block, i64 i) {
  const i64 first = block / b.groups * b.rows * b.groups * b.width + block % b.groups * b.width;
  return first + i / b.width * b.groups * b.width + i % b.width;
}
__device__ inline i64 channel_of(const Blocks& b, i64 block, i64 i) {
  return block % b.groups * b.width + i % b.width;
}

extern "C" __global__ void norm_forward(Blocks b, const T* x, const T* w0, const T* w1, T* y, float* kept) {
  const i64 items = b.rows * b.width;
  each_by_block(b.samples * b.groups, [=](i64 block) {
    const float mean =
        b.centred ? block_sum(items, [=](i64 i) { return get(x, item_of(b, block, i)); }) / (float)items
                  : 0.0f;
    const float variance = block_sum(items,
                                     [=](i64 i) {
                                       const float off = get(x, item_of(b, block, i)) - mean;
                                       return off * off;
                                     }) /
                           (float)items;
    const float r = 1.0f / sqrtf(variance + epsilon);
    if (threadIdx.x == 0) {
      kept[2 * block] = mean;
      kept[2 * block + 1] = r;
    }
    for (i64 i = threadIdx.x; i < items; i += blockDim.x) {
      const i64 at = item_of(b, block, i), c = channel_of(b, block, i);
      put(y, at, (get(x, at) - mean) * r * factor(w0, c) + addend(w1, c));
    }
  });
}

extern "C" __global__ void norm_backward(Blocks b, const T* x, const T* dy, const float* kept, const T* w0,
                                         T* dx) {
  const i64 items = b.rows * b.width;
  each_by_block(b.samples * b.groups, [=](i64 block) {
    const float mean = kept[2 * block], r = kept[2 * block + 1];
    const auto g = [=](i64 i) { return factor(w0, channel_of(b, block, i)) * get(dy, item_of(b, block, i)); };
    const auto z = [=](i64 i) { return (get(x, item_of(b, block, i)) - mean) * r; };
    const float mean_g = b.centred ? block_sum(items, g) / (float)items : 0.0f;
    const float mean_gz = block_sum(items, [=](i64 i) { return g(i) * z(i); }) / (float)items;
    for (i64 i = threadIdx.x; i < items; i += blockDim.x)
      put(dx, item_of(b, block, i), r * (g(i) - mean_g - z(i) * mean_gz));
  });
}

/// Sums for the gradients of factors and of addends; the latter may be null.
extern "C" __global__ void norm_weight_sums(Blocks b, i64 chunks, const T* x, const T* dy, const float* kept,
                                            float* factors, float* addends) {
  const i64 channels = b.groups * b.width;
  column_sums(b.samples * b.rows, channels, chunks, factors, addends,
              [=](i64 row, i64 c, float& for_f, float& for_a) {
                const i64 i = row * channels + c, block = row / b.rows * b.groups + c / b.width;
                for_a = get(dy, i);
                for_f = for_a * (get(x, i) - kept[2 * block]) * kept[2 * block + 1];
              });
}
