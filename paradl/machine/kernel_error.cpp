#include "paradl/machine/kernel_error.hpp"

#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl {

std::optional<KernelErrorRange> kernel_error_range(const DeviceSpec& device, Precision precision) {
  const auto fitted = fitted_precision(device, precision);
  if (!fitted) return KernelErrorRange{data_sheet_errors.least, data_sheet_errors.most, true};
  const auto errors = cross_validated(*device.kernels, *fitted);
  if (!errors) return {};
  return KernelErrorRange{errors->least(), errors->most()};
}

}  // namespace paradl
