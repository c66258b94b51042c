#pragma once
#include <memory>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Replaces layer times by those of a profile, if it has them: of whole layers at `samples` samples. A
/// PassTable asks the profile again for the parts of a layer that a strategy leaves to a GPU. UsageError if
/// the profile has none of the layers.
LayerTimes profiled_times(LayerTimes times, const Workload& work, std::shared_ptr<const Profile> profile,
                          double samples);

/// Spreads a measured total over the layers by the kernel-time model. The ratio of the measured total to the
/// modelled one, on the measured device and batch (`measured_on`), corrects all modelled times on the device
/// in question (`kernels`: the same device, or a changed one). Other batches and parts of layers are
/// modelled, too, not scaled in proportion. Without kernels, a roofline spreads the total. `samples` are
/// those of a device that runs the network alone. UsageError if the total is that of another network.
LayerTimes total_times(Workload work, Machine machine, const ProfileSpec& profile,
                       const std::shared_ptr<const KernelDevice>& measured_on,
                       std::shared_ptr<const KernelDevice> kernels, double samples,
                       UpdateKernels updates = UpdateKernels::fused);

}  // namespace paradl
