#include "calibrate/kernels/benchmarks.hpp"

#include <cmath>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {

const std::vector<BenchedDevice>& benched_devices() {
  static const std::vector<BenchedDevice> devices{
      {.name = "v100-cuda10",
       .system = "dgx1-v100",
       .libraries = "CUDA 10.1, cuDNN 7.6",
       .sets = {{Precision::fp32, {"NVIDIA V100", "Float", "CUDA=10.1"}},
                {Precision::fp16,
                 {"NVIDIA V100", "16 bit inputs, 16 bit multiplication, 32 bit addition", "CUDA=10.1"}}},
       .has_operators = true},
      {.name = "p100-cuda8",
       .system = "tsubame3",
       .libraries = "CUDA 8, cuDNN 6",
       .sets = {{Precision::fp32, {"NVIDIA Tesla P100", "Float", "CUDA=8"}}}}};
  return devices;
}

FittedSet fit_set(const DeviceSpec& sheet, Precision precision, const std::vector<KernelTiming>& timings,
                  unsigned seed) {
  const auto device = kernel_device(sheet, precision, Optimizer::momentum);
  if (!device)
    throw EnvironmentError("the data sheet of " + sheet.name + " has no multiprocessors or no such peak");
  FittedSet out{
      .precision = precision, .device = *device, .in_sample = {}, .cross_validated = {}, .at_bounds = {}};
  out.device.fitted = {};
  const KernelDevice start = out.device;
  out.cross_validated = cross_validate(start, timings, 5, seed);
  out.device.fitted = fit_kernels(start, timings);
  out.in_sample = kernel_errors(out.device, timings);
  for (const FittedParameter& p : fitted_parameters(start)) {
    const double value = p.get(out.device.fitted);
    if (std::abs(value / p.least - 1) < 1e-3 || std::abs(value / p.most - 1) < 1e-3)
      out.at_bounds.emplace_back(p.name);
  }
  return out;
}

}  // namespace paradl::calibrate
