#pragma once
#include "calibrate/cuda/context.hpp"

namespace paradl::calibrate::cuda {

class CudaDevice : public Device {
 public:
  CudaDevice(int ordinal, Precision precision) : context_(std::make_shared<Context>(ordinal, precision)) {}
  DeviceFacts facts() const override;

  Buffer allocate(std::size_t items) override;  // zeros
  void write(float* to, std::span<const float> from) override;
  void read(std::span<float> to, const float* from) override;
  void fill(float* to, std::size_t items, float value) override;
  void copy(const Piece& to, const Piece& from, const Box& region, Combine how) override;

  std::unique_ptr<LayerWork> prepare(const LocalLayer& layer) override;
  void update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) override;

  void synchronize() override;
  Seconds time(const std::function<void()>& work) override;

  Context& context() { return *context_; }

 private:
  std::shared_ptr<Context> context_;  // shared with layers
};

}  // namespace paradl::calibrate::cuda
