#pragma once
#include <memory>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Measured times in the place of others: of whole layers at `samples` samples, where the profile has them; a
/// PassTable asks it for what strategies leave of a layer. UsageError if it has not one of the layers.
LayerTimes profiled_times(LayerTimes times, const Workload& work, std::shared_ptr<const Profile> profile,
                          double samples);

/// A measured total spread over the layers as the kernel-time model says. What was measured over what it says
/// of the device and the batch there (`measured_on`) corrects what it says of the device in question
/// (`kernels`, the same or one that was changed), of other batches and of parts of layers: none of these is
/// taken to cost its share of the whole. Without kernels a roofline spreads it. `samples` are those of a
/// device that runs the network alone. UsageError if the total is another network's.
LayerTimes total_times(Workload work, Machine machine, const ProfileSpec& profile,
                       const std::shared_ptr<const KernelDevice>& measured_on,
                       std::shared_ptr<const KernelDevice> kernels, double samples,
                       UpdateKernels updates = UpdateKernels::fused);

}  // namespace paradl
