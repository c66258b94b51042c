#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// Shared by all layers of a device. They run one after the other, so they share one scratch buffer for
/// tensors in the memory format that a primitive prefers.
struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<float> scratch;

  static constexpr std::size_t line = 16;  // items of a cache line
  void reserve(std::size_t items) {
    if (scratch.size() < items + line) scratch.resize(items + line);
  }
  float* scratch_at(std::size_t place) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data()) / sizeof(float);
    return scratch.data() + (line - address % line) % line + place;
  }
};

/// A oneDNN primitive and its tensors, which are reordered on input or output if necessary.
class Pass {
 public:
  explicit Pass(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  /// In the order of the pointers that run() takes. `given` is our memory format of the tensor, `wanted` that
  /// of the primitive.
  void reads(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  void writes(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  void reads(int argument, const dnnl::memory::desc& given) { reads(argument, given, given); }
  void writes(int argument, const dnnl::memory::desc& given) { writes(argument, given, given); }
  void set(dnnl::primitive primitive) { primitive_ = std::move(primitive); }

  void run(std::initializer_list<const float*> pointers);

 private:
  struct Tensor {
    dnnl::memory given, wanted;
    std::size_t place = 0;    // of `wanted` in the scratch buffer
    dnnl::primitive reorder;  // empty if both are the same
    bool read = true;
  };
  void add(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted, bool read);

  std::shared_ptr<Engine> engine_;
  std::vector<Tensor> tensors_;
  std::size_t scratch_items_ = 0;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// One function for each kind of layer; they throw dnnl::error if oneDNN cannot run it.

/// A convolution that looks at single positions, or a fully connected layer: one matrix product per pass.
bool is_matrix_product(const LocalLayer& layer);
std::unique_ptr<LayerWork> prepare_matrix_product(const LocalLayer& layer);

std::unique_ptr<LayerWork> prepare_convolution(const LocalLayer& layer, std::shared_ptr<Engine> engine);
std::unique_ptr<LayerWork> prepare_attention(const LocalLayer& layer, std::shared_ptr<Engine> engine);
/// gelu, silu, tanh, sigmoid: the activations that take longer than reading and writing.
std::unique_ptr<LayerWork> prepare_activation(const LocalLayer& layer, std::shared_ptr<Engine> engine);
std::unique_ptr<LayerWork> prepare_softmax(const LocalLayer& layer, std::shared_ptr<Engine> engine);

/// Softmax of each of `rows` rows, from x to y, which may be the same. Backward, oneDNN 2 has nothing faster
/// than softmax_gradient().
Pass softmax_forward(std::shared_ptr<Engine> engine, std::int64_t rows, std::int64_t columns);

}  // namespace paradl::calibrate
