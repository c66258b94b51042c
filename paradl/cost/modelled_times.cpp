#include "paradl/cost/modelled_times.hpp"

#include "paradl/machine/kernel_time.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl {

PassTimes modelled_passes(const KernelDevice& kernels, const Layer& layer, const LocalLayer& local) {
  PassTimes time = modelled_passes(kernels, local);
  if (layer.first()) time.backward_data = {};
  return time;
}

PassTimes corrected(PassTimes time, double correction) {
  for (const auto pass : {&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights})
    time.*pass *= correction;
  return time;
}

std::optional<LayerTimes> with_update(const LayerTimes& times, const Workload& work, const UpdateWork& now,
                                      const UpdateWork& then) {
  if (times.profile) return {};
  LayerTimes out = times;
  for (LayerTime& time : out.layer) time.WU *= then.moved / now.moved;
  if (!times.kernels) return out;
  auto kernels = std::make_shared<KernelDevice>(*times.kernels);
  kernels->update = then;
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    out.layer[i].WU = modelled_passes(*kernels, local_layer(work.layers[i], {}, 1)).update;
  out.kernels = std::move(kernels);
  return out;
}

LayerTimes modelled_times(LayerTimes times, const Workload& work, std::shared_ptr<const KernelDevice> kernels,
                          const std::string& name, double samples) {
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    const LocalLayer layer = local_layer(work.layers[i], {}, samples);
    const PassTimes passes = modelled_passes(*kernels, work.layers[i], layer);
    const auto each = 1.0 / double(layer.samples);
    times.layer[i] = {each * passes.forward, each * passes.backward(), passes.update};
  }
  times.source = name.empty() ? "modelled from the data sheet" : "modelled, kernels of " + name;
  times.level = LayerSource::modelled;
  times.update_known = true;
  times.kernels = std::move(kernels);
  return times;
}

}  // namespace paradl
