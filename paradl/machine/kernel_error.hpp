#pragma once
#include <optional>

#include "paradl/spec/precision.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Median relative errors of kernel times on a device, for the best and the worst kind of kernel.
struct KernelErrorRange {
  double least = 0, most = 0;
  bool data_sheet = false;  // nothing was fitted on the device: the errors on other devices without a fit
};
/// Nothing if kernels were fitted, but their file does not state the errors.
std::optional<KernelErrorRange> kernel_error_range(const DeviceSpec& device, Precision precision);

}  // namespace paradl
