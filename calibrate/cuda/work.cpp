#include "calibrate/cuda/work.hpp"

#include <algorithm>

namespace paradl::calibrate::cuda {
namespace {

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

}  // namespace

Sums::Sums(Context& context, float* gradients, std::int64_t items)
    : context_(context), target_(context.out(gradients)), items_(items) {
  const std::size_t bytes = std::size_t(items) * sizeof(float);
  const bool direct = context.storage() == Storage::fp32 && target_;
  sums_ = static_cast<float*>(direct ? target_ : context.lend(bytes));
  context.zero(sums_, bytes);
}

void Sums::store() {
  if (target_ && target_ != sums_) context_.convert(std::size_t(items_), sums_, true, target_, false);
}

Chunks::Chunks(const Context& context, std::int64_t rows, std::int64_t channels) {
  const std::int64_t tiles = (channels + 31) / 32;  // lanes of column_sums
  // Four blocks keep a multiprocessor busy; chunks of fewer than 64 rows are not worth their atomic
  // additions.
  count = std::clamp<std::int64_t>(4 * context.processors() / tiles, 1, std::max<std::int64_t>(rows / 64, 1));
  blocks = tiles * count;
}

void bias_gradient(Context& context, std::int64_t rows, std::int64_t channels, const float* dy, float* db) {
  Sums sums(context, db, channels);
  const Chunks chunks(context, rows, channels);
  context.launch_rows("bias_sums", chunks.blocks, rows, channels, chunks.count, context.in(dy), sums.get());
  sums.store();
}

const void* aligned_input(Context& context, const void* data, std::size_t bytes) {
  if (is_aligned(data)) return data;
  void* const place = context.lend(bytes);
  context.move(place, data, bytes);
  return place;
}

AlignedOutput::AlignedOutput(Context& context, void* data, std::size_t bytes)
    : context_(context), data_(data), place_(is_aligned(data) ? data : context.lend(bytes)), bytes_(bytes) {}

void AlignedOutput::store() { context_.move(data_, place_, bytes_); }

}  // namespace paradl::calibrate::cuda
