// Layers that move numbers, and the device's own copies.

/// Strides in items of both sides of a copy of five-dimensional boxes.
struct Region {
  i64 length[5], to[5], from[5];
};

__device__ inline float get_any(const void* from, i64 wide, i64 i) {
  return wide ? ((const float*)from)[i] : get((const T*)from, i);
}
__device__ inline void put_any(void* to, i64 wide, i64 i, float value) {
  if (wide)
    ((float*)to)[i] = value;
  else
    put((T*)to, i, value);
}

extern "C" __global__ void fill(i64 n, void* to, i64 wide, float value) {
  each(n, [=](i64 i) { put_any(to, wide, i, value); });
}

extern "C" __global__ void convert(i64 n, const void* from, i64 from_wide, void* to, i64 to_wide) {
  each(n, [=](i64 i) { put_any(to, to_wide, i, get_any(from, from_wide, i)); });
}

extern "C" __global__ void copy_region(i64 n, Region r, const void* from, i64 from_wide, void* to,
                                       i64 to_wide, i64 add) {
  each(n, [=](i64 i) {
    i64 rest = i, source = 0, target = 0;
    for (int d = 4; d >= 0; --d) {
      const i64 at = rest % r.length[d];
      rest /= r.length[d];
      source += at * r.from[d];
      target += at * r.to[d];
    }
    const float value = get_any(from, from_wide, source);
    put_any(to, to_wide, target, add ? get_any(to, to_wide, target) + value : value);
  });
}

extern "C" __global__ void add_two(i64 n, const T* a, const T* b, T* y) {
  each(n, [=](i64 i) { put(y, i, get(a, i) + get(b, i)); });
}

/// to[m, column, row] = from[m, row, column]
extern "C" __global__ void transpose(i64 n, i64 rows, i64 columns, const T* from, T* to) {
  each(n, [=](i64 i) {
    const i64 row = i % rows, column = i / rows % columns, m = i / (rows * columns);
    to[i] = from[(m * rows + row) * columns + column];
  });
}

/// The index in x of packed head `a`. The heads of x form groups of `group` heads; of each group, `per` heads from
/// `first` on are packed.
__device__ inline i64 head_of(i64 a, i64 group, i64 first, i64 per) {
  return a / per * group + first + a % per;
}

/// packed[sample, a, position, j] = x[sample, position, head of a, j]; `all` heads in x, `count` packed
extern "C" __global__ void split_heads(i64 n, i64 length, i64 size, i64 all, i64 group, i64 first, i64 per,
                                       i64 count, const T* x, T* packed) {
  each(n, [=](i64 i) {
    const i64 j = i % size, position = i / size % length, a = i / (size * length) % count,
              sample = i / (size * length * count);
    packed[i] = x[((sample * length + position) * all + head_of(a, group, first, per)) * size + j];
  });
}
extern "C" __global__ void merge_heads(i64 n, i64 length, i64 size, i64 all, i64 group, i64 first, i64 per,
                                       i64 count, const T* packed, T* x) {
  each(n, [=](i64 i) {
    const i64 j = i % size, position = i / size % length, a = i / (size * length) % count,
              sample = i / (size * length * count);
    x[((sample * length + position) * all + head_of(a, group, first, per)) * size + j] = packed[i];
  });
}
