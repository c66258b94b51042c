#pragma once
#include <memory>
#include <string>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// Every operation in plain loops over host memory, on one thread: the reference for tests of other back
/// ends, and their fallback.
class PlainDevice : public Device {
 public:
  DeviceFacts facts() const override;

  Buffer allocate(std::size_t items) override;  // zeros
  void write(float* to, std::span<const float> from) override;
  void read(std::span<float> to, const float* from) override;
  void fill(float* to, std::size_t items, float value) override;
  void copy(const Piece& to, const Piece& from, const Box& region, Combine how) override;

  std::unique_ptr<LayerWork> prepare(const LocalLayer& layer) override;
  void update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) override;

  void synchronize() override {}
  Seconds time(const std::function<void()>& work) override;
};

std::unique_ptr<Device> make_plain_device();

/// Of the machine that runs this program.
std::string cpu_name();
Bytes machine_memory();

}  // namespace paradl::calibrate
