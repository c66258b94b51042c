// The level of parameters by which errors are recorded.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/machine/kernel_error.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/query/loading.hpp"

namespace paradl {
namespace {

/// The size of a memory does not change the time of a plan.
bool changes_times(const Override& change) {
  return change.path != "device.memory" && change.path != "host.memory";
}

bool is_transformer(const Workload& work) {
  return std::ranges::any_of(work.layers, [](const Layer& layer) { return layer.op == Op::attention; });
}

std::string_view switched(bool on) { return on ? "on" : "off"; }

std::string convolutions_text(const ConvolutionPolicy& policy) {
  if (!policy.winograd) return "no-winograd";
  return policy == ConvolutionPolicy{} ? "best" : fmt::format("{:g}GB", policy.workspace.base() / 1e9);
}

}  // namespace

ParameterLevel Case::level() const {
  // Closed forms use specified links. A framework only matters to them by layer times measured under it.
  const bool closed = fidelity == Fidelity::paper;
  return {.layers = times.level,
          .links = !closed && has_measured_links(machine) ? LinkLevel::measured : LinkLevel::ideal,
          .framework = closed ? ideal_framework : framework_spec.name,
          .device = machine.device.name,
          .precision = training.precision,
          .networks = is_transformer(work) ? NetworkKind::transformer
                      : work.convolutional ? NetworkKind::convolutional
                                           : NetworkKind::other,
          .changed = changed,
          .fidelity = fidelity};
}

std::optional<double> Case::layer_error() const {
  if (times.level == LayerSource::ideal) return 0;  // a bound
  const auto kernels = kernel_error_range(machine.device, training.precision);
  return kernels ? std::optional{kernels->most} : std::nullopt;
}

std::string changed_by(const Query& query, const Case& about) {
  if (about.changed_terms && query.measured_terms) return {};  // a measured run, as it was
  if (std::ranges::any_of(about.system_changes, changes_times) || about.changed_terms) return "--set";
  const Training& t = about.training;
  const Plan& plan = about.plan;
  if (t.input.from != InputFrom::none) return "--input";
  if (about.profile_spec && about.profile_spec->device != about.machine.device.name)
    return "a profile of another device";
  if (std::ranges::any_of(about.work.layers, [](const Layer& l) { return l.experts > 0; })) return "experts";
  const bool transformer = is_transformer(about.work);
  if (plan.recompute == Recompute::selective || (plan.recompute == Recompute::full && !transformer))
    return fmt::format("--recompute {}", recompute_text(plan));
  if (plan.zero != 0) return fmt::format("--zero {}", plan.zero);
  if (plan.sequence_parallel) return "--sequence-parallel on";
  if (query.flash.value_or(false)) return "--flash on";
  // The defaults of the framework, which its measured runs had.
  const Training usual = training_of({}, about.framework_spec);
  if (t.overlap != usual.overlap) return fmt::format("--overlap {}", switched(t.overlap));
  if (t.reduction != usual.reduction)
    return fmt::format("--reduction {}", reduction_names[std::size_t(t.reduction)]);
  if (t.convolutions != usual.convolutions)
    return fmt::format("--convolutions {}", convolutions_text(t.convolutions));
  // Measured transformers were trained with Adam, which must be typed if the framework has no default
  // optimizer.
  const bool told_adam = transformer && t.optimizer == Optimizer::adam && !about.framework_spec.optimizer;
  if (t.optimizer != usual.optimizer && !told_adam)
    return fmt::format("--optimizer {}", optimizer_names[std::size_t(t.optimizer)]);
  if (t.synchronised_batch_norm) return "--batch-norm sync";
  if (plan.allreduce.algorithm) return fmt::format("--allreduce {}", allreduce_text(plan));
  return {};
}

}  // namespace paradl
