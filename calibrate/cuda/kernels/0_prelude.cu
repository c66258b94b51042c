// Our own kernels, compiled at run time for the GPU in use (NVRTC). They are kept simple: each works for any
// number of blocks, counts in 64 bits and does not access anything beyond its sizes.
//
//   T            an item as it is stored: float, or 16 bits that get() and put() convert
//   const float* statistics, states of optimizers, sums: always 32 bits
//
// The order of a kernel's parameters is that of Context::launch in the host code, which compares their kinds.
// Every parameter is a pointer, an i64, a float or one of the structs below.

typedef long long i64;
const int block_size = 256;  // threads; as in context.cpp

#if PARADL_STORAGE == 0
typedef float T;
__device__ inline float get(const T* from, i64 i) { return from[i]; }
__device__ inline void put(T* to, i64 i, float value) { to[i] = value; }
#else
typedef unsigned short T;
#if PARADL_STORAGE == 1  // fp16
__device__ inline float widened(T bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline T narrowed(float value) {
  T bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else                    // bf16: the upper half of a float, rounded to even
__device__ inline float widened(T bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ inline T narrowed(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (T)(bits >> 16 | 0x40u);  // NaN stays NaN
  return (T)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#endif
__device__ inline float get(const T* from, i64 i) { return widened(from[i]); }
__device__ inline void put(T* to, i64 i, float value) { to[i] = narrowed(value); }
#endif

/// f(i) for every i below n, distributed over all threads of all blocks.
template <class F>
__device__ inline void each(i64 n, F f) {
  const i64 threads = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) f(i);
}

/// f(row) for every row below n, distributed over blocks: all threads of a block work on the same row.
template <class F>
__device__ inline void each_by_block(i64 n, F f) {
  for (i64 row = blockIdx.x; row < n; row += gridDim.x) f(row);
}

struct Larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// The values of all threads of the block, combined; every thread gets the result.
template <class Operation>
__device__ inline float block_total(float mine, Operation combine) {
  __shared__ float part[block_size];
  const int t = (int)threadIdx.x;
  __syncthreads();  // all threads have read the last total
  part[t] = mine;
  __syncthreads();
  for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] = combine(part[t], part[t + half]);
    __syncthreads();
  }
  return part[0];
}

/// The sum of f(i) over i below n, by one block.
template <class F>
__device__ inline float block_sum(i64 n, F f) {
  float mine = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) mine += f(i);
  return block_total(mine, Sum());
}

/// Adds the results of term(row, c, for a, for b), summed over all rows, to a[c] and b[c]; b may be null. The rows
/// are divided into `chunks`, and a block works on one chunk of `lanes` channels.
template <class F>
__device__ inline void column_sums(i64 rows, i64 channels, i64 chunks, float* a, float* b, F term) {
  const int lanes = 32, height = block_size / lanes;
  __shared__ float part_a[height][lanes], part_b[height][lanes];
  const int lane = (int)threadIdx.x % lanes, level = (int)threadIdx.x / lanes;
  const i64 tiles = (channels + lanes - 1) / lanes;
  each_by_block(tiles * chunks, [=](i64 job) {
    const i64 c = job % tiles * lanes + lane, chunk = job / tiles;
    const i64 end = rows * (chunk + 1) / chunks;
    float sum_a = 0, sum_b = 0;
    if (c < channels)
      for (i64 row = rows * chunk / chunks + level; row < end; row += height) {
        float for_a = 0, for_b = 0;
        term(row, c, for_a, for_b);
        sum_a += for_a;
        sum_b += for_b;
      }
    __syncthreads();  // all threads have read the parts of the last job
    part_a[level][lane] = sum_a;
    part_b[level][lane] = sum_b;
    __syncthreads();
    if (level > 0 || c >= channels) return;
    for (int other = 1; other < height; ++other) {
      sum_a += part_a[other][lane];
      sum_b += part_b[other][lane];
    }
    atomicAdd(a + c, sum_a);
    if (b) atomicAdd(b + c, sum_b);
  });
}
