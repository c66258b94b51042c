#include "paradl/cost/profiled_times.hpp"

#include <cmath>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl {

LayerTimes profiled_times(LayerTimes times, const Workload& work, std::shared_ptr<const Profile> profile,
                          double samples) {
  int missing = 0, found = 0;
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    const LocalLayer layer = local_layer(work.layers[i], {}, samples);
    const auto measured = profile->find(layer, times.shapes.get());
    if (measured) {
      const auto each = 1.0 / double(layer.samples);
      times.layer[i] = {each * measured->forward, each * measured->backward(), measured->update};
    }
    ++(measured ? found : is_view(layer.op) ? found : missing);
  }
  if (found == 0)
    throw UsageError(fmt::format("the profile `{}` has no layer of {}", profile->name(), work.name),
                     fmt::format("measure it: paradl-calibrate layers {}", work.name));
  const std::string rest = times.source;
  times.source = fmt::format("profile {}", profile->name());
  times.level = LayerSource::profile;
  times.profile_name = profile->name();
  if (missing > 0)
    times.source += fmt::format(", {} for {} layer{} that it lacks", rest, missing, missing == 1 ? "" : "s");
  times.update_known = true;
  times.profile = std::move(profile);
  return times;
}

namespace {

Seconds passes_of_sample(const LayerTimes& times) {
  Seconds sum;
  for (const LayerTime& t : times.layer) sum += t.FW + t.BW;
  return sum;
}

}  // namespace

LayerTimes total_times(Workload work, Machine machine, const ProfileSpec& profile,
                       const std::shared_ptr<const KernelDevice>& measured_on,
                       std::shared_ptr<const KernelDevice> kernels, double samples, UpdateKernels updates) {
  if (profile.model != work.name)
    throw UsageError(
        fmt::format("the profile `{}` is the total of {}, not of {}", profile.name, profile.model, work.name),
        "leave --profile out, or name a profile of this model");
  const ProfileSpec::Total& total = *profile.total;
  work.time = total.time;
  machine.device.peak[std::size_t(profile.precision)] = total.rate;
  machine.device.memory_bandwidth = total.memory_bandwidth;
  LayerTimes times = layer_times(work, machine, profile.precision, profile.optimizer, true, updates);
  const char* spread = "a roofline";
  if (kernels) {
    const double measured_at = total.samples > 0 ? total.samples : std::ceil(work.batch);
    const LayerTimes there = modelled_times(times, work, measured_on, "", measured_at);
    times = modelled_times(std::move(times), work, std::move(kernels), "", samples);
    times.correction = total.time / passes_of_sample(there);
    for (LayerTime& t : times.layer) t.FW *= times.correction, t.BW *= times.correction;
    times.update_known = false;
    spread = "the kernel-time model";
  }
  times.source = fmt::format("profile {} (a measured total, spread by {})", profile.name, spread);
  times.level = LayerSource::profile;
  times.profile_name = profile.name;
  return times;
}

}  // namespace paradl
