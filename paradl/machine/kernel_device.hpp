#pragma once
#include <memory>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Which kernels a framework uses if a library has several.
struct KernelPolicy {
  ConvolutionPolicy convolutions;
  /// Norms keep a row on the multiprocessor, and dropout runs in the kernel of the addition after it.
  bool fused = false;
  UpdateKernels updates = UpdateKernels::fused;
};

/// A device as the kernel-time model uses it: its data sheet for one precision, and the fitted parameters.
struct KernelDevice {
  double multiprocessors = 1;
  FlopRate peak;        // in this precision
  FlopRate plain_peak;  // without tensor cores, for shapes that do not suit them
  Bandwidth bandwidth;
  Bytes item;         // of tensors in memory
  UpdateWork update;  // of weights
  bool tensor_cores = false;
  KernelParameters fitted;
  KernelPolicy policy;

  /// The time of a kernel that only moves that many bytes.
  Seconds pass(Bytes moved) const { return moved / (fitted.stream * bandwidth) + fitted.launch; }
};

/// The precision whose fitted kernels are used for `precision`: itself, or one with the same item size and
/// peak rate, because it runs on the same units at the same rate (bf16 and fp16). Nothing if there is no fit.
std::optional<Precision> fitted_precision(const DeviceSpec& spec, Precision precision);

/// The device of a system in that precision; nothing if its multiprocessors or peak rates are unknown.
/// Parameters that were not fitted have their defaults.
std::shared_ptr<const KernelDevice> kernel_device(const DeviceSpec& spec, Precision precision,
                                                  Optimizer optimizer, const KernelPolicy& policy = {});

}  // namespace paradl
