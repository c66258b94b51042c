// Chooses the best available layer times.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/profiled_times.hpp"
#include "paradl/query/loading.hpp"
#include "paradl/spec/measured_under.hpp"

namespace paradl {
namespace {

/// A profile of this network on this device, trained this way, and measured under the same framework or under
/// none. If the user asks for a profile (`asked`), one of another framework is better than none.
const ProfileSpec* fitting_profile(Library& library, const Case& about, bool asked) {
  const ProfileSpec* other = nullptr;
  for (const std::string& name : library.profiles_naming(about.work.name)) {
    const ProfileSpec& profile = library.profile(name);
    if (profile.model != about.work.name || profile.device != about.machine.device.name ||
        profile.precision != about.training.precision || profile.optimizer != about.training.optimizer)
      continue;
    if (const std::string under = measured_under(profile);
        under.empty() || under == about.framework_spec.name)
      return &profile;
    if (!other) other = &profile;
  }
  return asked ? other : nullptr;
}

/// How the origin of a profile differs from the query.
std::string strangeness(const ProfileSpec& profile, const Case& about) {
  std::string out;
  if (profile.device != about.machine.device.name) out += fmt::format(", measured on {}", profile.device);
  if (const std::string under = measured_under(profile); !under.empty() && under != about.framework_spec.name)
    out += fmt::format(", measured under {}", under);
  return out;
}

/// Samples of one GPU that runs the network alone: those per GPU if the mini-batch is given so, else the
/// whole mini-batch.
double samples_alone(const Query& query, const Case& about) {
  if (!query.batch) return std::ceil(about.work.batch);
  const BatchRule& rule = *query.batch;
  return std::ceil(rule.per == BatchRule::Per::node ? rule.value / about.machine.gpus_per_node()
                                                    : rule.value);
}

KernelPolicy policy_of(const Training& training) {
  return {training.convolutions, training.framework.fused_kernels, training.framework.update_kernels};
}

std::shared_ptr<const KernelDevice> kernels_of(const DeviceSpec& device, const Training& training) {
  return kernel_device(device, training.precision, training.optimizer, policy_of(training));
}

/// Uses the kernel-time model if the device has one. If the user asks for it, the device must have one.
void model_times(const Query& query, LayerLevel level, Case& about) {
  const DeviceSpec& device = about.machine.device;
  const Training& training = about.training;
  const auto kernels = kernels_of(device, training);
  if (!kernels && level == LayerLevel::modelled)
    blame({query.layer_times.origin()},
          UsageError(
              fmt::format("{} does not say how many multiprocessors {} has", about.machine.name, device.name),
              "add `multiprocessors: N` to its `device`, or use --layer-times ideal"));
  if (!kernels) return;
  const auto fitted = fitted_precision(device, training.precision);
  std::string name = fitted ? device.kernels->name : "";
  if (fitted && *fitted != training.precision)
    name += fmt::format(", fitted in {}", precision_names[std::size_t(*fitted)]);
  about.times =
      modelled_times(std::move(about.times), about.work, kernels, name, samples_alone(query, about));
}

/// The named profile; else one that fits, if a profile may be used.
const ProfileSpec* profile_of(const Query& query, Library& library, LayerLevel level, const Case& about) {
  if (query.profile)
    return blaming({query.profile.origin()}, [&] {
      const ProfileSpec& profile = library.profile(*query.profile);
      check_profile(profile, about.training);
      return &profile;
    });
  const bool asked = level == LayerLevel::profile;
  if (!asked && !(level == LayerLevel::best && !about.work.has_times())) return nullptr;
  const ProfileSpec* found = fitting_profile(library, about, asked);
  if (!found && asked)
    blame({query.layer_times.origin()},
          UsageError(fmt::format("no profile fits {} on {}", about.work.name, about.machine.device.name),
                     "name one with --profile; `paradl profiles` lists them"));
  return found;
}

/// A profile was measured on the device as in its file (`written`), without the changes of --set.
void take_profile(const Query& query, DeviceSpec written, Case& about) {
  const Training& training = about.training;
  const ProfileSpec& profile = *about.profile_spec;
  if (profile.total) {
    about.times = total_times(about.work, about.machine, profile, kernels_of(written, training),
                              kernels_of(about.machine.device, training), samples_alone(query, about),
                              training.framework.update_kernels);
  } else {
    // If the number of multiprocessors is unknown, assume one: only the dependence on shapes matters here.
    if (!written.multiprocessors) written.multiprocessors = 1;
    about.times.shapes = kernels_of(written, training);
    about.times = profiled_times(std::move(about.times), about.work, std::make_shared<Profile>(profile),
                                 std::ceil(about.work.batch));
  }
  about.times.source += strangeness(profile, about);
}

}  // namespace

void check_profile(const ProfileSpec& profile, const Training& training) {
  const auto differ = [&](const char* option, std::string_view measured, std::string_view asked) {
    if (measured != asked)
      throw UsageError(
          fmt::format("the profile `{}` was measured with {}, not {}", profile.name, measured, asked),
          fmt::format("add --{} {}", option, measured));
  };
  differ("precision", precision_names[std::size_t(profile.precision)],
         precision_names[std::size_t(training.precision)]);
  differ("optimizer", optimizer_names[std::size_t(profile.optimizer)],
         optimizer_names[std::size_t(training.optimizer)]);
}

void find_layer_times(const Query& query, Library& library, Case& about) {
  const LayerLevel level = query.layer_times.value_or(LayerLevel::best);
  const bool best = level == LayerLevel::best;
  if (query.profile && !best && level != LayerLevel::profile)
    blame({query.profile.origin(), query.layer_times.origin()},
          UsageError(fmt::format("--profile and --layer-times {} contradict each other",
                                 layer_level_names[std::size_t(level)]),
                     "leave one of them out"));
  // Times in a model file are measurements too.
  about.times = blaming({query.precision.origin(), query.model.origin()}, [&] {
    return layer_times(about.work, about.machine, about.training.precision, about.training.optimizer,
                       best || level == LayerLevel::profile, about.training.framework.update_kernels);
  });
  // The paper's closed forms use a profile or ideal times, as in the paper.
  const bool closed = best && (about.fidelity == Fidelity::paper || about.work.has_times());
  if (level != LayerLevel::ideal && !closed) model_times(query, level, about);
  if (const ProfileSpec* profile = profile_of(query, library, level, about)) {
    about.profile_spec = *profile;
    blaming({query.profile.origin(), query.layer_times.origin(), query.model.origin()},
            [&] { take_profile(query, library.system(*query.system).device, about); });
  }
}

}  // namespace paradl
