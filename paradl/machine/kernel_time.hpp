#pragma once
#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// The times of a layer's passes by the kernel-time model, for the shapes on one device: products and
/// convolutions by tiles and waves, everything else by how often its tensors cross the memory bus.
PassTimes modelled_passes(const KernelDevice& device, const LocalLayer& layer);

}  // namespace paradl
