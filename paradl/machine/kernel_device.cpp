#include "paradl/machine/kernel_device.hpp"

namespace paradl {
namespace {

/// Without tensor cores, 16-bit numbers run at most at twice the fp32 rate.
constexpr double most_without_tensor_cores = 2;

}  // namespace

std::optional<Precision> fitted_precision(const DeviceSpec& spec, Precision precision) {
  if (!spec.kernels) return {};
  const auto& fitted = spec.kernels->fitted;
  if (fitted[std::size_t(precision)]) return precision;
  const auto peak = spec.peak[std::size_t(precision)];
  for (std::size_t i = 0; i < fitted.size(); ++i)
    if (fitted[i] && peak && spec.peak[i] && *spec.peak[i] == *peak &&
        item_bytes(Precision(i)).activation == item_bytes(precision).activation)
      return Precision(i);
  return {};
}

std::shared_ptr<const KernelDevice> kernel_device(const DeviceSpec& spec, Precision precision,
                                                  Optimizer optimizer, const KernelPolicy& policy) {
  const auto peak = spec.peak[std::size_t(precision)];
  if (!spec.multiprocessors || !peak) return {};
  auto device = std::make_shared<KernelDevice>();
  device->multiprocessors = *spec.multiprocessors;
  device->peak = *peak;
  device->plain_peak = spec.peak[std::size_t(Precision::fp32)].value_or(*peak);
  device->bandwidth = spec.memory_bandwidth;
  device->item = item_bytes(precision).activation;
  device->update = update_work(optimizer, precision, policy.updates);
  device->tensor_cores = *peak > most_without_tensor_cores * device->plain_peak;
  if (const auto fitted = fitted_precision(spec, precision))
    device->fitted = *spec.kernels->fitted[std::size_t(*fitted)];
  device->policy = policy;
  return device;
}

}  // namespace paradl
