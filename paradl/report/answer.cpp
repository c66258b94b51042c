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
  const bool leaves = projection.strategy->out_of_core;
  const std::vector<RecordedError>& near = leaves ? answer.beyond : answer.nearest;
  if (!projection.timed() || near.empty()) return {};
  const RecordedError* found =
      find_recorded(near, near.front().level, in_core(*projection.strategy), projection.gpus);
  if (!found) return {};
  if (!leaves) return *found;
  const HostDoubt& host = projection.out_of_core->doubt;
  return widened(*found, {.low = host.fast, .high = host.slow});
}

bool borrowed(const Answer& answer, const Projection& projection, const RecordedError& error) {
  return error.level != answer.level || projection.strategy->out_of_core;
}

bool from_ideal(const Answer& answer) {
  return !answer.nearest.empty() && answer.nearest.front().level.framework == "ideal";
}

namespace {

std::string level_text(const ParameterLevel& level) {
  return fmt::format(
      "{} layer times, {} links, {}", level.layers, level.links,
      level.fidelity == "paper" ? "closed forms of the paper" : "framework " + level.framework);
}

std::string runs_text(const RecordedError& error) {
  return fmt::format("{} run{}", error.runs, error.runs == 1 ? "" : "s");
}

std::string unseen_text(const RecordedError& error) {
  return error.left_out_accuracy
             ? fmt::format("; {} when left out of the fit", percent(*error.left_out_accuracy))
             : "";
}

/// Why nothing on record applies: the first thing of a projection's level that no run had.
std::string nothing_text(const std::vector<RecordedError>& recorded, const ParameterLevel& level,
                         double gpus) {
  if (!level.changed.empty()) return fmt::format("no runs on record with {}", level.changed);
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
    return "no measured runs on record for " + level_text(level);
  if (!keep([&](const ParameterLevel& l) { return l.networks == level.networks; }))
    return fmt::format("no runs on record for {} networks under {}", level.networks, level.framework);
  return fmt::format("no runs on record like this on {:.0f} GPU{} under {}", gpus, gpus == 1 ? "" : "s",
                     level.framework);
}

/// What is known of kernels where no run is on record: errors of shapes that were left out of their fit. Of
/// one projection also what that would mean for its computation.
std::string kernels_text(const Setting& setting, const Projection* p = nullptr) {
  if (!setting.times.kernels || setting.times.level != "modelled") return "";
  const auto errors = kernel_error_range(setting.machine.device, setting.training.precision);
  if (!errors) return "; nothing is known of how far off its kernels are";
  const double most = errors->most;
  std::string out = fmt::format("; {}single kernels are {:.0f} to {:.0f} % off (median by kind{})",
                                errors->data_sheet ? "from a data sheet alone, " : "", 100 * errors->least,
                                100 * most, errors->data_sheet ? "" : ", cross-validated");
  if (!p) return out;
  const Seconds compute = p->iterations * p->cost->compute();
  return out + fmt::format(": were all {:.0f} % off the same way, computation would take {} to {}",
                           100 * most, text((1 - most) * compute), text((1 + most) * compute));
}

std::string gpus_text(const RecordedError& error) {
  return std::isfinite(error.below) ? fmt::format("{:.0f} to {:.0f} GPUs", error.from, error.below - 1)
                                    : fmt::format("{:.0f} GPUs and more", error.from);
}

/// "1.3 to 3.4": how many times as long as projected these runs took.
std::string times_text(const RecordedError& error) {
  const auto two_digits = [](double times) {
    return fmt::format("{:.{}f}", times, times < 1 ? 2 : times < 10 ? 1 : 0);
  };
  return fmt::format("{} to {}", two_digits(error.least), two_digits(error.most));
}

/// "; none on H100 SXM5 80GB: of runs on V100 SXM2 16GB; intervals ...": where the runs are of another level,
/// or in core and the plans are not.
std::string elsewhere_text(const Answer& answer, const ParameterLevel& there, bool out_of_core) {
  const ParameterLevel& asked = answer.level;
  std::vector<std::string> none, of;
  if (asked.framework != there.framework) none.push_back("under " + asked.framework);
  const auto differ = [&](const std::string& here, const std::string& other) {
    none.push_back(here);
    of.push_back(other);
  };
  if (asked.networks != there.networks)
    differ(fmt::format("of {} networks", asked.networks), fmt::format("of {} ones", there.networks));
  if (out_of_core) differ("out of core", "in core");
  if (!asked.changed.empty()) differ("with " + asked.changed, "without");
  if (asked.layers != there.layers)
    differ(fmt::format("with {} layer times", asked.layers), fmt::format("with {} ones", there.layers));
  if (asked.links != there.links)
    differ(fmt::format("with {} links", asked.links), fmt::format("with {} ones", there.links));
  if (asked.device != there.device) differ("on " + asked.device, "on " + there.device);
  if (asked.precision != there.precision) differ("in " + asked.precision, "in " + there.precision);
  if (none.empty()) return "";
  if (of.empty()) return fmt::format("; none {}: taken for {}", fmt::join(none, " "), there.framework);
  return fmt::format("; none {}: of runs {}; intervals are wider by what its kernels may be off{}",
                     fmt::join(none, " "), fmt::join(of, " "),
                     out_of_core ? ", and by a host link half or twice as fast" : "");
}

/// Whether it is the interval that tells, and not how accurate projections like this were.
bool tells_times(const Answer& answer) {
  return from_ideal(answer) || answer.nearest.front().level != answer.level;
}

bool leaves_core(const Projection& projection) { return projection.strategy->out_of_core; }

/// "data 1.3 to 3.3, others 0.85 to 16 on 1 to 64 GPUs": of all strategies of an answer, scale by scale.
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
      "measured runs took this many times as long: {} ({}){}", fmt::join(texts, "; "),
      level_text(answer.nearest.front().level),
      elsewhere_text(answer, answer.nearest.front().level, std::ranges::any_of(answer.results, leaves_core)));
}

}  // namespace

std::string record_text(const Answer& answer, const Projection& projection) {
  const auto error = recorded_error(answer, projection);
  if (!error)
    return nothing_text(answer.recorded, answer.level, projection.gpus) +
           kernels_text(*answer.setting, &projection);
  const std::string of =
      fmt::format("{} of {} on {}", runs_text(*error),
                  error->strategy == any_strategy
                      ? fmt::format("all strategies, none of them {},", projection.strategy->text)
                      : error->strategy,
                  gpus_text(*error));
  if (tells_times(answer) || borrowed(answer, projection, *error))
    return fmt::format("{} took {} times as long ({}){}", of, times_text(*error), level_text(error->level),
                       elsewhere_text(answer, error->level, leaves_core(projection)));
  return fmt::format("{} on record, the mean of {}{} ({})", percent(error->mean_accuracy), of,
                     unseen_text(*error), level_text(answer.level));
}

std::string records_text(const Answer& answer) {
  std::vector<std::string> told, without;
  bool any = false;
  for (const Projection& p : answer.results) {
    if (!p.timed()) continue;
    const auto error = recorded_error(answer, p);
    any = any || error;
    const bool own = error && error->strategy != any_strategy && !leaves_core(p);
    std::string text = own ? fmt::format("{} {} ({})", error->strategy, percent(error->mean_accuracy),
                                         gpus_text(*error) + ", " + runs_text(*error) + unseen_text(*error))
                           : p.strategy->text;
    auto& list = own ? told : without;
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  }
  if (told.empty() && without.empty()) return "";
  if (any && tells_times(answer)) return all_times_text(answer);
  if (told.empty()) {
    for (const Projection& p : answer.results)
      if (p.cost && recorded_error(answer, p)) return record_text(answer, p);
    return nothing_text(answer.recorded, answer.level, answer.results.front().gpus) +
           kernels_text(*answer.setting);
  }
  return fmt::format("on record with {}: {}{}", level_text(answer.level), fmt::join(told, ", "),
                     without.empty() ? "" : fmt::format("; no runs of {}", fmt::join(without, ", ")));
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
                     range.empty() ? "" : fmt::format(" Nine times in ten: {} per epoch.", range));
}

double model_flop(const Setting& setting, double batch) {
  constexpr double passes = 3;  // forward, and backward with respect to inputs and weights
  constexpr double flop_per_mac = 2;
  return passes * flop_per_mac * setting.work.train_macs() * batch;
}

std::string allreduce_text(const Training& training) {
  if (!training.allreduce) return {};
  const std::string_view name = training.allreduce->name;
  return name.starts_with("sparse") ? fmt::format("{}:{}", name, training.density) : std::string(name);
}

std::string allreduce_basis(const Training& training, const std::vector<Projection>& results) {
  if (!training.allreduce) return {};
  int followed = 0, formula = 0;
  for (const Projection& p : results)
    if (p.allreduce) ++(*p.allreduce == NetworkFidelity::link_load ? followed : formula);
  const std::string name = allreduce_text(training);
  constexpr std::string_view on_wires = "message by message on the wires (link-load)";
  if (formula == 0)
    return followed == 0 ? fmt::format("Allreduce: {}.", name)
                         : fmt::format("Allreduce: {}, {}.", name, on_wires);
  if (training.allreduce->tabulated) {
    std::vector<std::string_view> chosen;
    for (const Projection& p : results)
      if (!p.chosen.empty() && std::ranges::find(chosen, p.chosen) == chosen.end())
        chosen.push_back(p.chosen);
    return fmt::format("Allreduce: {} ({}), by NCCL's own model (closed form).", name,
                       fmt::join(chosen, "; "));
  }
  const std::string_view why = "too many messages to follow";
  if (followed == 0) return fmt::format("Allreduce: {}, by its closed form: {}.", name, why);
  return fmt::format("Allreduce: {}, {}; {} of {} results by its closed form: {}.", name, on_wires, formula,
                     formula + followed, why);
}

namespace {

/// Parts to which heads and words are dealt out.
double tensor_parts(const Mesh& mesh) {
  double parts = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->pairs) parts *= mesh.axis[std::size_t(a)].parts.total;
  return parts;
}

}  // namespace

double padded_words(const Workload& work, const FrameworkTerms& framework, const Mesh& mesh) {
  double words = 0;
  for (const Layer& layer : work.layers) words = std::max(words, layer.vocabulary);
  const double padded = words > 0 ? padded_vocabulary(words, tensor_parts(mesh), framework) : 0;
  return padded > words ? padded : 0;
}

double kv_copies(const Workload& work, const Mesh& mesh) {
  double copies = 1;
  for (const Layer& layer : work.layers)
    if (layer.op == Op::attention) copies = std::max(copies, tensor_parts(mesh) / layer.heads);
  return copies;
}

double tokens_per_sample(const Workload& work) { return work.tokens ? work.input.positions() : 0; }

}  // namespace paradl
