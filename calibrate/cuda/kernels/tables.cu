// Layers whose weights are a table with a row of channels for each token, position, or extra first token.

/// The row of the table for an id, or -1 if another rank has it.
__device__ inline i64 row_of(const void* ids, i64 wide, i64 at, i64 first_row, i64 rows) {
  const i64 row = (i64)get_any(ids, wide, at) - first_row;
  return row >= 0 && row < rows ? row : -1;
}

extern "C" __global__ void embedding_forward(i64 n, i64 filters, i64 first_row, i64 rows, const void* ids,
                                             i64 wide, const T* w, T* y) {
  each(n, [=](i64 i) {
    const i64 row = row_of(ids, wide, i / filters, first_row, rows);
    put(y, i, row < 0 ? 0.0f : get(w, row * filters + i % filters));
  });
}
/// sums: zeros at first
extern "C" __global__ void embedding_sums(i64 n, i64 filters, i64 first_row, i64 rows, const void* ids,
                                          i64 wide, const T* dy, float* sums) {
  each(n, [=](i64 i) {
    const i64 row = row_of(ids, wide, i / filters, first_row, rows);
    if (row >= 0) atomicAdd(sums + row * filters + i % filters, get(dy, i));
  });
}

extern "C" __global__ void position_forward(i64 n, i64 positions, i64 channels, i64 first_row, i64 rows,
                                            const T* x, const T* w, T* y) {
  each(n, [=](i64 i) {
    const i64 entry = (first_row + i / channels % positions) % rows;
    put(y, i, get(x, i) + get(w, entry * channels + i % channels));
  });
}
/// n items of dw; each entry is used at every `rows`-th position.
extern "C" __global__ void position_weights(i64 n, i64 samples, i64 positions, i64 channels, i64 first_row,
                                            i64 rows, const T* dy, T* dw) {
  each(n, [=](i64 i) {
    const i64 first = ((i / channels - first_row) % rows + rows) % rows;
    float sum = 0;
    for (i64 sample = 0; sample < samples; ++sample)
      for (i64 p = first; p < positions; p += rows)
        sum += get(dy, (sample * positions + p) * channels + i % channels);
    put(dw, i, sum);
  });
}

/// The first `front` items of each sample come from the table, the `rest` from x.
extern "C" __global__ void tokens_forward(i64 n, i64 front, i64 rest, const T* w, const T* x, T* y) {
  each(n, [=](i64 i) {
    const i64 sample = i / (front + rest), at = i % (front + rest);
    y[i] = at < front ? w[at] : x[sample * rest + at - front];
  });
}
extern "C" __global__ void tokens_weights(i64 front, i64 rest, i64 samples, const T* dy, T* dw) {
  each(front, [=](i64 i) {
    float sum = 0;
    for (i64 sample = 0; sample < samples; ++sample) sum += get(dy, sample * (front + rest) + i);
    put(dw, i, sum);
  });
}
