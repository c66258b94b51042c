#pragma once
#include <memory>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Measured times in the place of others: of whole layers at `samples` samples, where the profile has them; a
/// Pricer asks it for what strategies leave of a layer. UsageError if it has not one of the layers.
LayerTimes profiled_times(LayerTimes times, const Workload& work, std::shared_ptr<const Profile> profile,
                          double samples);

/// A measured total spread over the layers as `kernels` say of the batch that was measured. What was measured
/// over what they say there corrects what they say of other batches and of parts of layers: neither is taken
/// to cost its share of the whole. Without kernels a roofline spreads it. `samples` are those of a device
/// that runs the network alone. UsageError if the total is another network's.
LayerTimes total_times(Workload work, Machine machine, const ProfileSpec& profile,
                       std::shared_ptr<const KernelDevice> kernels, double samples,
                       UpdateKernels updates = UpdateKernels::fused);

}  // namespace paradl
