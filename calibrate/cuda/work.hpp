#pragma once
#include <memory>

#include "calibrate/cuda/context.hpp"

namespace paradl::calibrate::cuda {

// As in kernels/*.cu.
struct RegionSizes {
  std::array<std::int64_t, 5> length, to, from;
};
struct WindowSizes {
  std::int64_t channels;
  std::array<std::int64_t, 3> x, y, kernel, stride, dilation, padding;
};
struct BlockSizes {
  std::int64_t samples, rows, groups, width, centred;
};

/// A layer on a GPU. Each pass borrows scratch memory and returns it.
class CudaWork : public LayerWork {
 public:
  CudaWork(std::shared_ptr<Context> context, const LocalLayer& layer)
      : context_(std::move(context)), layer_(layer) {}

 protected:
  Context& context() { return *context_; }
  const LocalLayer& layer() const { return layer_; }

 private:
  std::shared_ptr<Context> context_;
  LocalLayer layer_;
};

std::unique_ptr<LayerWork> prepare_conv(std::shared_ptr<Context> context, const LocalLayer& layer);
std::unique_ptr<LayerWork> prepare_fc(std::shared_ptr<Context> context, const LocalLayer& layer);
std::unique_ptr<LayerWork> prepare_attention(std::shared_ptr<Context> context, const LocalLayer& layer);
/// All other layers, which run in our own kernels.
std::unique_ptr<LayerWork> prepare_simple(std::shared_ptr<Context> context, const LocalLayer& layer);

/// Sums in 32 bits for a buffer of gradients: initially zero, stored by store().
class Sums {
 public:
  Sums(Context& context, float* gradients, std::int64_t items);
  float* get() const { return sums_; }
  void store();

 private:
  Context& context_;
  void* target_;
  std::int64_t items_;
  float* sums_;
};

/// The number of blocks that share the rows of a column_sums kernel, and the total number of blocks.
struct Chunks {
  Chunks(const Context& context, std::int64_t rows, std::int64_t channels);
  std::int64_t count, blocks;
};

/// The gradient of a bias: the sums of dy over all rows.
void bias_gradient(Context& context, std::int64_t rows, std::int64_t channels, const float* dy, float* db);

/// Libraries need tensors at multiples of 16 bytes; other tensors are copied to or from an aligned buffer.
const void* aligned_input(Context& context, const void* data, std::size_t bytes);
class AlignedOutput {
 public:
  AlignedOutput(Context& context, void* data, std::size_t bytes);
  void* get() const { return place_; }
  void store();

 private:
  Context& context_;
  void *data_, *place_;
  std::size_t bytes_;
};

}  // namespace paradl::calibrate::cuda
