#pragma once
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/backend/box.hpp"
#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/spec/local_layer.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl::calibrate {

/// Numbers in device memory, freed with the last copy of the buffer.
struct Buffer {
  std::shared_ptr<float> data;
  std::size_t items = 0;
  float* get() const { return data.get(); }
};

/// A box of a tensor in memory, in row-major order: the last dimension is contiguous.
struct Piece {
  float* data = nullptr;
  Box box;
};

enum class Combine { replace, add };

/// What the passes of one layer read and write; all pointers are to device memory. Activations have the order
/// sample, extents, channel, with channels contiguous. Weights:
///
///     conv, fc      w[0]: filter, channel of its group, taps   w[1]: bias, one per filter
///     embedding     w[0]: row of the vocabulary, filter
///     position      w[0]: entry, channel
///     tokens        w[0]: token put in front, channel
///     norms         w[0], w[1]: factor and summand, one of each per channel (rms-norm has no summand)
///
/// If w[1] is nullptr, nothing is added. The order of channels makes a slice of them a smaller layer of the
/// same kind: attention has, for each head of keys, the heads of queries that share it, then the key, then
/// the value; gate has pairs of a factor and the channel that it multiplies. Flatten outputs channel after
/// channel, with the positions of one channel contiguous.
struct LayerData {
  std::vector<const float*> x;           // of each input
  std::vector<std::int64_t> x_channels;  // of each input of a concat
  float* y = nullptr;
  std::vector<float*> dx;  // of each input; nullptr if not needed
  const float* dy = nullptr;
  std::array<const float*, 2> w{};
  std::array<float*, 2> dw{};  // overwritten
  float* kept = nullptr;       // LayerWork::kept_items(), from forward to backward
  /// Batch norm: 2 C numbers that may be summed over ranks between the statistics and the pass. Forward: sums
  /// of x and of x^2. Backward: sums of dy and of dy times the normalised x.
  float* statistics = nullptr;
  double counted = 0;  // batch norm: samples times positions in the statistics
  /// Embedding: the first row of the vocabulary in w[0]; ids of rows outside of it give zeros. Position: the
  /// number of the first position; position i uses entry i modulo the rows.
  std::int64_t first_row = 0;
};

/// A layer that is ready to run, with its algorithms chosen. Passes are enqueued on the device and may return
/// before they are complete.
class LayerWork {
 public:
  virtual ~LayerWork() = default;
  virtual void forward(const LayerData& data) = 0;
  virtual void backward_data(const LayerData& data) = 0;     // dx from dy
  virtual void backward_weights(const LayerData& data) = 0;  // dw from dy; does nothing without weights
  /// Batch norm: run before forward, and before backward.
  virtual void forward_statistics(const LayerData&) {}
  virtual void backward_statistics(const LayerData&) {}
  /// Items that forward stores for backward (positions of maxima, attention probabilities).
  virtual std::size_t kept_items() const { return 0; }
};

struct DeviceFacts {
  std::string name;       // "AMD EPYC 7R13", "NVIDIA A100-SXM4-80GB"
  std::string libraries;  // "oneDNN 2.6.3, 1 thread"
  Bytes memory;
};

/// The back ends: oneDNN on a CPU, CUDA, and loops that need no library.
enum class Backend { cpu, cuda, plain };
inline constexpr std::array<std::string_view, 3> backend_names{"cpu", "cuda", "plain"};
static_assert(names_every(Backend::plain, backend_names), "name every Backend");

/// A back end: what calibration and rehearsals need from a device. Numbers are fp32 at this interface; a
/// device that works in another precision converts as it reads and writes.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;

  virtual Buffer allocate(std::size_t items) = 0;
  virtual void write(float* to, std::span<const float> from) = 0;
  virtual void read(std::span<float> to, const float* from) = 0;
  virtual void fill(float* to, std::size_t items, float value) = 0;
  /// Copies or adds `region`, which must be inside both boxes.
  virtual void copy(const Piece& to, const Piece& from, const Box& region, Combine how) = 0;

  /// nullptr if the device cannot run such a layer.
  virtual std::unique_ptr<LayerWork> prepare(const LocalLayer& layer) = 0;
  /// One step of the optimizer, at a learning rate of 0.01 and with its usual constants (Adam's without
  /// correction of the first steps); `state` has optimizer_slots() times `items` numbers, zero at first.
  virtual void update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) = 0;

  virtual void synchronize() = 0;
  /// The time that the device needs for what `work` enqueues.
  virtual Seconds time(const std::function<void()>& work) = 0;
};

}  // namespace paradl::calibrate
