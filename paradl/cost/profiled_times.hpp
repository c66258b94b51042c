#pragma once
#include <memory>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Measured times in the place of others: of whole layers at `samples` samples, where the profile has them; a
/// Pricer asks it for what strategies leave of a layer. UsageError if it has not one of the layers.
LayerTimes profiled_times(LayerTimes times, const Workload& work, std::shared_ptr<const Profile> profile,
                          double samples);

/// A measured total spread over the layers. UsageError if it is another network's.
LayerTimes total_times(Workload work, Machine machine, const ProfileSpec& profile,
                       UpdateKernels updates = UpdateKernels::fused);

}  // namespace paradl
