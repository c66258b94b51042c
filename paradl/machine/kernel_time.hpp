#pragma once
#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// How long the passes of a layer take by the kernel-time model, at the shapes that one device has of it:
/// products and convolutions by tiles and waves, all else by how often its tensors cross the memory bus.
PassTimes modelled_passes(const KernelDevice& device, const LocalLayer& layer);

}  // namespace paradl
