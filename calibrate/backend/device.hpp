#pragma once
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/backend/box.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/spec/local_layer.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl::calibrate {

/// Numbers in a device's memory, which is given back with the last copy of the buffer.
struct Buffer {
  std::shared_ptr<float> data;
  std::size_t items = 0;
  float* get() const { return data.get(); }
};

/// A box of a tensor as it lies in memory: row by row, the last dimension closest.
struct Piece {
  float* data = nullptr;
  Box box;
};

enum class Combine { replace, add };

/// What the passes of one layer read and write; all pointers are to device memory. Activations are sample by
/// sample, position by position, channels closest (N, extents, C). Weights:
///
///     conv, fc      w[0]: filter, channel of its group, taps   w[1]: bias, one a filter
///     embedding     w[0]: row of the vocabulary, filter
///     position      w[0]: entry, channel
///     tokens        w[0]: token put in front, channel
///     norms         w[0], w[1]: factor and addend, one a channel each (rms-norm has no addend)
///
/// A w[1] that is not there (nullptr) is not added. Channels are in an order in which a slice of them is a
/// smaller layer of the same kind: attention takes, for each head of keys, the heads of queries that share
/// it, then the key, then the value; gate takes a factor beside what it is multiplied by. Flatten puts
/// channel after channel, the positions of one closest.
struct LayerData {
  std::vector<const float*> x;           // of each input
  std::vector<std::int64_t> x_channels;  // of each input of a concat
  float* y = nullptr;
  std::vector<float*> dx;  // of each input; nullptr where nobody wants it
  const float* dy = nullptr;
  std::array<const float*, 2> w{};
  std::array<float*, 2> dw{};  // overwritten
  float* kept = nullptr;       // LayerWork::kept_items(), from forward to backward
  /// Batch norm: 2 C numbers that may be summed over PEs between a pass and its statistics. Forward: sums of
  /// x and of x^2. Backward: sums of dy and of dy times the normalised x.
  float* statistics = nullptr;
  double counted = 0;  // batch norm: the samples times positions that the statistics are of
  /// Embedding: the first row of the vocabulary that w[0] holds; ids of other rows give zeros. Position: the
  /// number of the first position; position i takes entry i modulo the rows.
  std::int64_t first_row = 0;
};

/// A layer that is ready to run, its algorithms chosen. Passes are put in line on the device and may return
/// before they are done.
class LayerWork {
 public:
  virtual ~LayerWork() = default;
  virtual void forward(const LayerData& data) = 0;
  virtual void backward_data(const LayerData& data) = 0;     // dx from dy
  virtual void backward_weights(const LayerData& data) = 0;  // dw from dy; nothing where there are no weights
  /// Batch norm: to be run before forward, before backward.
  virtual void forward_statistics(const LayerData&) {}
  virtual void backward_statistics(const LayerData&) {}
  /// Items that forward leaves for backward (a pooling's places, attention's shares).
  virtual std::size_t kept_items() const { return 0; }
};

struct DeviceFacts {
  std::string backend;    // "cpu", "cuda"
  std::string name;       // "AMD EPYC 7R13", "NVIDIA A100-SXM4-80GB"
  std::string libraries;  // "oneDNN 2.6.3, 1 thread"
  Bytes memory;
};

/// A back end: what calibration and rehearsal ask of a device. Numbers are fp32 at this interface; a device
/// that works in another precision converts as it reads and writes.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;

  virtual Buffer allocate(std::size_t items) = 0;
  virtual void write(float* to, std::span<const float> from) = 0;
  virtual void read(std::span<float> to, const float* from) = 0;
  virtual void fill(float* to, std::size_t items, float value) = 0;
  /// Copies or adds what `region` covers, which lies in both boxes.
  virtual void copy(const Piece& to, const Piece& from, const Box& region, Combine how) = 0;

  /// nullptr if it has no way to run such a layer.
  virtual std::unique_ptr<LayerWork> prepare(const LocalLayer& layer) = 0;
  /// One step of the optimizer, at a learning rate of 0.01 and with its usual constants (Adam's without
  /// correction of the first steps); `state` has optimizer_slots() times `items` numbers, zero at first.
  virtual void update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) = 0;

  virtual void synchronize() = 0;
  /// How long the device works on what is put in line by `work`.
  virtual Seconds time(const std::function<void()>& work) = 0;
};

}  // namespace paradl::calibrate
