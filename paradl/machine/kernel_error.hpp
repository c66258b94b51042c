#pragma once
#include <optional>

#include "paradl/spec/precision.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// How far kernels of a device are off, median errors: from the best to the worst kind of kernel.
struct KernelErrorRange {
  double least = 0, most = 0;
  bool data_sheet = false;  // nothing was fitted on the device: what that was worth elsewhere
};
/// None where kernels were fitted, but their file does not tell how far off they are.
std::optional<KernelErrorRange> kernel_error_range(const DeviceSpec& device, Precision precision);

}  // namespace paradl
