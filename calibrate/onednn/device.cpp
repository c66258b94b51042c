#include <fmt/format.h>
#include <omp.h>

#include "calibrate/onednn/onednn.hpp"
#include "calibrate/onednn/pass.hpp"
#include "calibrate/plain/plain.hpp"

namespace paradl::calibrate {
namespace {

/// The plain device with faster layers.
class CpuDevice : public PlainDevice {
 public:
  DeviceFacts facts() const override {
    const dnnl_version_t& version = *dnnl::version();
    const int threads = omp_get_max_threads();
    return {.name = cpu_name(),
            .libraries = fmt::format("oneDNN {}.{}.{}, {} thread{}", version.major, version.minor,
                                     version.patch, threads, threads == 1 ? "" : "s"),
            .memory = machine_memory()};
  }

  std::unique_ptr<LayerWork> prepare(const LocalLayer& layer) override {
    try {
      if (auto work = with_onednn(layer)) return work;
    } catch (const dnnl::error&) {
      // This version of the library does not support the shape; the plain loops support all.
    }
    return PlainDevice::prepare(layer);
  }

 private:
  std::unique_ptr<LayerWork> with_onednn(const LocalLayer& layer) {
    if (is_matrix_product(layer)) return prepare_matrix_product(layer);
    switch (layer.op) {
      case Op::conv:
        return prepare_convolution(layer, engine_);
      case Op::attention:
        return prepare_attention(layer, engine_);
      case Op::gelu:
      case Op::silu:
      case Op::tanh:
      case Op::sigmoid:
        return prepare_activation(layer, engine_);
      case Op::softmax:
        return prepare_softmax(layer, engine_);
      default:
        return nullptr;
    }
  }

  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace paradl::calibrate
