#pragma once
#include <memory>
#include <optional>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Replaces layer times by those of the kernel-time model: of whole layers at `samples` samples. A PassTable
/// asks the model again for the parts of a layer that a strategy leaves to a GPU. `name` is that of the
/// fitted kernels; empty: the data sheet only.
LayerTimes modelled_times(LayerTimes times, const Workload& work, std::shared_ptr<const KernelDevice> kernels,
                          const std::string& name, double samples);

/// The modelled times of a layer. The gradient of the network's input is not computed.
PassTimes modelled_passes(const KernelDevice& kernels, const Layer& layer, const LocalLayer& local);

/// The same times with another update of weights. None if updates were measured: the time of another update
/// is then unknown.
std::optional<LayerTimes> with_update(const LayerTimes& times, const Workload& work, const UpdateWork& now,
                                      const UpdateWork& then);

/// Multiplies the passes of a layer by a correction; its update stays.
PassTimes corrected(PassTimes time, double correction);

}  // namespace paradl
