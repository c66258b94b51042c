#include "paradl/report/answer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/price.hpp"
#include "paradl/machine/kernel_error.hpp"

namespace paradl {

Expense expense_of(const Answer& answer, const Projection& projection) {
  return expense_of(projection, answer.setting->machine, answer.epochs > 0 ? answer.epochs : 1);
}

std::optional<RecordedError> recorded_error(const Answer& answer, const Projection& projection) {
  const bool leaves = projection.plan.out_of_core;
  const std::vector<RecordedError>& near = leaves ? answer.nearest_out_of_core : answer.nearest;
  if (!projection.timed() || near.empty()) return {};
  const RecordedError* found =
      find_recorded(near, near.front().level, in_core(strategy_of(projection.plan)), projection.gpus);
  if (!found) return {};
  if (!leaves) return *found;
  const HostDoubt& host = projection.out_of_core->doubt;
  return widened(*found, {.low = host.fast, .high = host.slow});
}

bool borrowed(const Answer& answer, const Projection& projection, const RecordedError& error) {
  return error.level != answer.level || projection.plan.out_of_core;
}

bool from_ideal(const Answer& answer) {
  return !answer.nearest.empty() && is_ideal(answer.nearest.front().level.framework);
}

namespace {

std::string level_text(const ParameterLevel& level) {
  return fmt::format(
      "{} layer times, {} links, {}", layer_source_names[std::size_t(level.layers)],
      link_level_names[std::size_t(level.links)],
      level.fidelity == Fidelity::paper ? "closed forms of the paper" : "framework " + level.framework);
}

std::string runs_text(const RecordedError& error) {
  return fmt::format("{} run{}", error.runs, error.runs == 1 ? "" : "s");
}

std::string unseen_text(const RecordedError& error) {
  return error.left_out_accuracy
             ? fmt::format("; {} when left out of the fit", percent(*error.left_out_accuracy))
             : "";
}

/// Why no record applies: the first property of a projection's level that no run had.
std::string nothing_text(const std::vector<RecordedError>& recorded, const ParameterLevel& level,
                         double gpus) {
  if (!level.changed.empty()) return fmt::format("no measured run with {}", level.changed);
  std::vector<ParameterLevel> known;
  for (const RecordedError& error : recorded) known.push_back(error.level);
  const auto keep = [&](auto alike) {
    std::erase_if(known, [&](const ParameterLevel& l) { return !alike(l); });
    return !known.empty();
  };
  if (!keep([&](const ParameterLevel& l) {
        return l.fidelity == level.fidelity && l.layers == level.layers && l.links == level.links &&
               l.framework == level.framework;
      }))
    return "no measured run with " + level_text(level);
  if (!keep([&](const ParameterLevel& l) { return l.networks == level.networks; }))
    return fmt::format("no measured run of {} networks with framework {}",
                       network_kind_names[std::size_t(level.networks)], level.framework);
  return fmt::format("no measured run like this on {:.0f} GPU{} with framework {}", gpus,
                     gpus == 1 ? "" : "s", level.framework);
}

/// The error of kernels if no run is on record: that of shapes left out of their fit. For one projection also
/// the effect on its computation.
std::string kernels_text(const Setting& setting, const Projection* p = nullptr) {
  if (!setting.times.kernels || setting.times.level != LayerSource::modelled) return "";
  const auto errors = kernel_error_range(setting.machine.device, setting.training.precision);
  if (!errors) return "; the error of its kernels is unknown";
  const double most = errors->most;
  std::string out = fmt::format("; {}the error of single kernels is {:.0f} to {:.0f} % (median by kind{})",
                                errors->data_sheet ? "without fitted kernels, " : "", 100 * errors->least,
                                100 * most, errors->data_sheet ? "" : ", cross-validated");
  if (!p) return out;
  const Seconds compute = p->iterations * p->cost->compute();
  return out +
         fmt::format(": if all were wrong by {:.0f} % in the same direction, computation would take {} to {}",
                     100 * most, text((1 - most) * compute), text((1 + most) * compute));
}

std::string gpus_text(const RecordedError& error) {
  return std::isfinite(error.below) ? fmt::format("{:.0f} to {:.0f} GPUs", error.from, error.below - 1)
                                    : fmt::format("{:.0f} GPUs and more", error.from);
}

/// "1.3 to 3.4": measured / projected of these runs.
std::string times_text(const RecordedError& error) {
  const auto two_digits = [](double times) {
    return fmt::format("{:.{}f}", times, times < 1 ? 2 : times < 10 ? 1 : 0);
  };
  return fmt::format("{} to {}", two_digits(error.least), two_digits(error.most));
}

/// "; no measured run on H100 SXM5 80GB; interval borrowed from runs on V100 SXM2 16GB, widened ...": if the
/// record is that of another level, or of runs in core for a plan out of core.
std::string borrowed_text(const Answer& answer, const ParameterLevel& there, bool out_of_core) {
  const ParameterLevel& asked = answer.level;
  std::vector<std::string> none, of;
  const auto differ = [&](const std::string& here, const std::string& other) {
    none.push_back(here);
    of.push_back(other);
  };
  if (asked.framework != there.framework) differ("with " + asked.framework, "without framework terms");
  const bool only_framework = none.size() == 1;
  if (asked.networks != there.networks)
    differ(fmt::format("of {} networks", network_kind_names[std::size_t(asked.networks)]),
           fmt::format("of {} ones", network_kind_names[std::size_t(there.networks)]));
  if (out_of_core) differ("out of core", "in core");
  if (!asked.changed.empty()) differ("with " + asked.changed, "without");
  if (asked.layers != there.layers)
    differ(fmt::format("with {} layer times", layer_source_names[std::size_t(asked.layers)]),
           fmt::format("with {} ones", layer_source_names[std::size_t(there.layers)]));
  if (asked.links != there.links)
    differ(fmt::format("with {} links", link_level_names[std::size_t(asked.links)]),
           fmt::format("with {} ones", link_level_names[std::size_t(there.links)]));
  if (asked.device != there.device) differ("on " + asked.device, "on " + there.device);
  if (asked.precision != there.precision)
    differ(fmt::format("in {}", precision_names[std::size_t(asked.precision)]),
           fmt::format("in {}", precision_names[std::size_t(there.precision)]));
  if (none.empty()) return "";
  if (only_framework && none.size() == 1)
    return fmt::format("; no measured run {}; using the errors of runs {}", none.front(), of.front());
  return fmt::format(
      "; no measured run {}; interval borrowed from runs {}, widened by the error of the layer times{}",
      fmt::join(none, ", "), fmt::join(of, ", "),
      out_of_core ? " and by a host link half or twice as fast" : "");
}

/// Whether the text gives the range of measured / projected instead of an accuracy.
bool gives_times(const Answer& answer) {
  return from_ideal(answer) || answer.nearest.front().level != answer.level;
}

bool leaves_core(const Projection& projection) { return projection.plan.out_of_core; }

/// "data 1.3 to 3.3, others 0.85 to 16 on 1 to 64 GPUs": for all strategies of an answer, by number of GPUs.
std::string all_times_text(const Answer& answer) {
  struct Scale {
    std::string gpus, others;
    std::vector<std::string> strategies;
  };
  std::vector<Scale> scales;
  for (const Projection& p : answer.results) {
    const auto error = recorded_error(answer, p);
    if (!error) continue;
    auto scale = std::ranges::find(scales, gpus_text(*error), &Scale::gpus);
    if (scale == scales.end()) scale = scales.insert(scale, {gpus_text(*error), "", {}});
    if (error->strategy == any_strategy)
      scale->others = fmt::format("others {}", times_text(*error));
    else if (std::string text = fmt::format("{} {}", error->strategy, times_text(*error));
             std::ranges::find(scale->strategies, text) == scale->strategies.end())
      scale->strategies.push_back(std::move(text));
  }
  std::vector<std::string> texts;
  for (Scale& scale : scales) {
    if (!scale.others.empty()) scale.strategies.push_back(scale.others);
    texts.push_back(fmt::format("{} on {}", fmt::join(scale.strategies, ", "), scale.gpus));
  }
  return fmt::format(
      "real time / projection in measured runs: {} ({}){}", fmt::join(texts, "; "),
      level_text(answer.nearest.front().level),
      borrowed_text(answer, answer.nearest.front().level, std::ranges::any_of(answer.results, leaves_core)));
}

}  // namespace

std::string record_text(const Answer& answer, const Projection& projection) {
  const auto error = recorded_error(answer, projection);
  if (!error)
    return nothing_text(answer.recorded, answer.level, projection.gpus) +
           kernels_text(*answer.setting, &projection);
  const std::string runs =
      fmt::format("{} measured {} ({}, {})", error->runs, error->runs == 1 ? "run" : "runs",
                  error->strategy == any_strategy
                      ? fmt::format("all strategies, because {} has none", projection.strategy())
                      : error->strategy,
                  gpus_text(*error));
  if (gives_times(answer) || borrowed(answer, projection, *error))
    return fmt::format("in {} the real time was {} times the projection ({}){}", runs, times_text(*error),
                       level_text(error->level),
                       borrowed_text(answer, error->level, leaves_core(projection)));
  return fmt::format("mean {} in {}{} ({})", percent(error->mean_accuracy), runs, unseen_text(*error),
                     level_text(answer.level));
}

std::string records_text(const Answer& answer) {
  std::vector<std::string> with, without;
  bool any = false;
  for (const Projection& p : answer.results) {
    if (!p.timed()) continue;
    const auto error = recorded_error(answer, p);
    any = any || error;
    const bool own = error && error->strategy != any_strategy && !leaves_core(p);
    std::string text = own ? fmt::format("{} {} ({})", error->strategy, percent(error->mean_accuracy),
                                         gpus_text(*error) + ", " + runs_text(*error) + unseen_text(*error))
                           : p.strategy();
    auto& list = own ? with : without;
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  }
  if (with.empty() && without.empty()) return "";
  if (any && gives_times(answer)) return all_times_text(answer);
  if (with.empty()) {
    for (const Projection& p : answer.results)
      if (p.cost && recorded_error(answer, p)) return record_text(answer, p);
    return nothing_text(answer.recorded, answer.level, answer.results.front().gpus) +
           kernels_text(*answer.setting);
  }
  return fmt::format("mean in measured runs with {}: {}{}", level_text(answer.level), fmt::join(with, ", "),
                     without.empty() ? "" : fmt::format("; no measured run of {}", fmt::join(without, ", ")));
}

std::string interval_text(const Answer& answer, const Projection& projection) {
  const auto error = recorded_error(answer, projection);
  if (!error) return "";
  return fmt::format("{} to {}", text(error->low * projection.epoch()),
                     text(error->high * projection.epoch()));
}

std::string accuracy_text(const Answer& answer, const Projection& projection) {
  const std::string range = interval_text(answer, projection);
  return fmt::format("{}.{}", record_text(answer, projection),
                     range.empty() ? "" : fmt::format(" 90 % interval: {} per epoch.", range));
}

double model_flop(const Setting& setting, double batch) {
  constexpr double passes = 3;  // forward, and backward for the gradients of inputs and weights
  constexpr double flop_per_mac = 2;
  return passes * flop_per_mac * setting.work.train_macs() * batch;
}

std::string allreduce_basis(const std::vector<Projection>& results) {
  if (results.empty() || !results.front().plan.allreduce.algorithm) return {};
  int followed = 0, formula = 0;
  for (const Projection& p : results)
    if (p.allreduce) ++(*p.allreduce == NetworkFidelity::link_load ? followed : formula);
  const Plan& plan = results.front().plan;  // all have the same algorithm
  const std::string name = allreduce_text(plan);
  constexpr std::string_view on_wires = "message by message (link-load)";
  if (formula == 0)
    return followed == 0 ? fmt::format("Allreduce: {}.", name)
                         : fmt::format("Allreduce: {}, {}.", name, on_wires);
  if (plan.allreduce.algorithm->tabulated) {
    std::vector<std::string_view> chosen;
    for (const Projection& p : results)
      if (!p.chosen.empty() && std::ranges::find(chosen, p.chosen) == chosen.end())
        chosen.push_back(p.chosen);
    return fmt::format("Allreduce: {} ({}), by NCCL's own model (closed form).", name,
                       fmt::join(chosen, "; "));
  }
  const std::string_view why = "too many messages to route";
  if (followed == 0) return fmt::format("Allreduce: {}, by its closed form: {}.", name, why);
  return fmt::format("Allreduce: {}, {}; {} of {} results by its closed form: {}.", name, on_wires, formula,
                     formula + followed, why);
}

double tokens_per_sample(const Workload& work) { return work.tokens ? work.input.positions() : 0; }

}  // namespace paradl
