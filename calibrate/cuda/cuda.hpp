#pragma once
#include <memory>
#include <string>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// GPU `ordinal` of this machine, with cuDNN, cuBLASLt and our own kernels. fp32 is true fp32; 16-bit
/// precisions store activations, weights and gradients in 16 bits, sum in 32 bits and update 32-bit copies of
/// the weights. EnvironmentError without a driver or without that GPU, UsageError for fp8.
std::unique_ptr<Device> make_cuda_device(int ordinal, Precision precision);

/// For `--dry-run` and `--version`: "CUDA 13.0, cuDNN 9.19.0, NCCL 2.28.9"; needs no driver.
std::string cuda_versions();

}  // namespace paradl::calibrate
