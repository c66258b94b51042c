#pragma once
#include <memory>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Which kernels a framework runs where a library has several.
struct KernelPolicy {
  ConvolutionPolicy convolutions;
  /// Norms keep a row on the multiprocessor, and dropout runs in the kernel of the addition behind it.
  bool fused = false;
  UpdateKernels updates = UpdateKernels::fused;
};

/// A device as kernels see it: what its data sheet says of one precision, and what was fitted.
struct KernelDevice {
  double multiprocessors = 1;
  FlopRate peak;        // in the precision in question
  FlopRate plain_peak;  // of fp32 without tensor cores: what shapes that do not suit these fall back to
  Bandwidth bandwidth;
  Bytes item;         // of tensors in memory
  UpdateWork update;  // of weights
  bool tensor_cores = false;
  KernelParameters fitted;
  KernelPolicy policy;

  /// One pass over that many bytes by a kernel that does nothing else.
  Seconds pass(Bytes moved) const { return moved / (fitted.stream * bandwidth) + fitted.launch; }
};

/// The precision whose fitted kernels serve another one: itself, or one with items of the same size and the
/// same peak rate, which runs on the same units at the same pace (bf16 beside fp16). None: nothing was
/// fitted.
std::optional<Precision> fitted_precision(const DeviceSpec& spec, Precision precision);

/// The device of a system in that precision; none where its multiprocessors or peak rates are not known. What
/// was not fitted there is what its data sheet and the defaults say.
std::shared_ptr<const KernelDevice> kernel_device(const DeviceSpec& spec, Precision precision,
                                                  Optimizer optimizer, const KernelPolicy& policy = {});

}  // namespace paradl
