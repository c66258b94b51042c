#pragma once
#include <memory>
#include <optional>

#include "paradl/machine/layer_time.hpp"

namespace paradl {

/// Times by the kernel-time model in the place of others: of whole layers at `samples` samples; a PassTable asks
/// the model again for what strategies leave of a layer. `name` says what was fitted; empty: the data sheet
/// alone.
LayerTimes modelled_times(LayerTimes times, const Workload& work, std::shared_ptr<const KernelDevice> kernels,
                          const std::string& name, double samples);

/// What the model says of a layer. Nobody wants the gradient of a network's input.
PassTimes modelled_passes(const KernelDevice& kernels, const Layer& layer, const LocalLayer& local);

/// The same times with another update of weights. None where updates were measured: what another would take
/// is not known.
std::optional<LayerTimes> with_update(const LayerTimes& times, const Workload& work, const UpdateWork& now,
                                      const UpdateWork& then);

/// The passes over a layer in proportion; its update stays.
PassTimes corrected(PassTimes time, double correction);

}  // namespace paradl
