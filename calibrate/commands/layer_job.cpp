#include "calibrate/commands/layer_job.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/files/profile_file.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/files/system_file.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/units.hpp"

namespace paradl::calibrate {
namespace {

std::optional<ProfileSpec> existing(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return {};
  return read_profile(read_source(path));
}

ProfileSpec empty_profile(const LayerJob& job, const DeviceFacts& facts) {
  ProfileSpec out{.name = job.name,
                  .model = job.model,
                  .device = facts.name,
                  .libraries = facts.libraries,
                  .date = today()};
  out.precision = job.training.precision;
  out.optimizer = job.training.optimizer;
  return out;
}

/// What rank 0 found in its file is what all ranks measure: not every node need see the file.
Resumed agreed_resume(const Session& session, const Bench& bench, const LayerJob& job,
                      const ProfileSpec& now) {
  const auto layers = job.layers();
  Resumed mine;
  if (bench.speaks()) mine = resume(existing(job.path), now, layers, job.rule.noise);
  Resumed out{.kept = mine.kept, .open = {}, .why_not = mine.why_not};
  std::vector<LocalLayer> noisy;  // after those of which nothing is known: an interruption may come again
  for (const LocalLayer& layer : layers) {
    constexpr double known = 0, too_noisy = 1, missing = 2;
    const bool kept = std::ranges::find(mine.kept, layer, &ProfileSpec::Entry::layer) != mine.kept.end();
    const bool open = std::ranges::find(mine.open, layer) != mine.open.end();
    const double state = bench.ranks->gather(!open ? known : kept ? too_noisy : missing).front();
    if (state != known) (state == missing ? out.open : noisy).push_back(layer);
  }
  out.open.insert(out.open.end(), noisy.begin(), noisy.end());
  if (bench.speaks() && !out.why_not.empty())
    hint(session, fmt::format("{} was measured {}: starting over", job.path, out.why_not));
  if (bench.speaks() && layers.size() > out.open.size())
    hint(session, fmt::format("{} of {} shapes are in {} already; `rm` it to measure them again",
                              layers.size() - out.open.size(), layers.size(), job.path));
  return out;
}

std::string joined_names(const std::vector<PlannedShape>& shapes) {
  constexpr std::size_t most = 4;
  std::vector<std::string> names;
  for (const PlannedShape& s : shapes) {
    const std::string name = s.split == "whole" ? s.name : fmt::format("{} {}", s.name, s.split);
    if (names.size() < most) names.push_back(name);
  }
  return fmt::format("{}{}", fmt::join(names, ", "), shapes.size() > most ? ", ..." : "");
}

}  // namespace

std::vector<LocalLayer> LayerJob::layers() const {
  std::vector<LocalLayer> out;
  for (const PlannedShape& shape : shapes) out.push_back(shape.layer);
  return out;
}

void LayerRuleWords::define(const Arguments& command) {
  const std::string group = "When it is good enough";
  command.text("--noise", noise,
               {.help = "settled when the median is known to within this share; default 2%",
                .meta = "SHARE",
                .group = group});
  command.text("--min-time", least,
               {.help = "of each shape, whatever its noise; default 10ms", .meta = "TIME", .group = group});
  command.text("--time", time,
               {.help = "no round begins after it; default 10min", .meta = "TIME", .group = group});
  command.text("--rounds", rounds, {.help = "at most; default 10", .meta = "N", .group = group});
}

Seconds read_seconds(const std::string& name, const std::string& text) {
  if (const auto time = parse<Seconds>(text); time && *time > Seconds{}) return *time;
  throw UsageError(fmt::format("--{} {}: not a time", name, text), fmt::format("write --{} 60s", name));
}

LayerRule LayerRuleWords::read() const {
  LayerRule rule;
  if (!noise.empty()) {
    const bool in_percent = noise.ends_with('%');
    rule.noise = in_percent
                     ? read_number("noise", std::string_view(noise).substr(0, noise.size() - 1), 0, 100) / 100
                     : read_number("noise", noise, 0, 1);
  }
  if (!least.empty()) rule.least = read_seconds("min-time", least);
  if (!time.empty()) rule.time = read_seconds("time", time);
  if (!rounds.empty()) rule.rounds = read_count("rounds", rounds, 1, 1000);
  return rule;
}

BatchRule read_layer_batch(const Options& options, const Workload& work) {
  BatchRule rule{.per = BatchRule::Per::gpu, .value = work.batch};
  if (options.has("batch")) rule = options.read("batch", "", read_batch);
  if (rule.per == BatchRule::Per::node)
    throw UsageError("layers are measured for one PE, which is no node", "write -b 32 or -b 32/gpu");
  if (rule.value < 1 || rule.value != std::floor(rule.value) || rule.value > 1e6)
    throw UsageError(fmt::format("a mini-batch of {} samples cannot be measured", rule.value), "add -b 16");
  return rule;
}

std::string batch_text(const BatchRule& batch) {
  return fmt::format("{}{}", batch.value, batch.per == BatchRule::Per::gpu ? " per PE" : "");
}

LayerOutcome run_layers(const Session& session, const Bench& bench, const LayerJob& job) {
  LayerOutcome out{.profile = empty_profile(job, bench.device->facts()), .planned = job.shapes.size()};
  const Resumed known = agreed_resume(session, bench, job, out.profile);
  out.known = job.shapes.size() - known.open.size();
  out.profile.entries = known.kept;
  const auto planned = [&](const LocalLayer& layer) {
    return *std::ranges::find(job.shapes, layer, &PlannedShape::layer);
  };

  Progress progress(session, bench.speaks());
  LayerRoundsOptions options{.rule = job.rule, .optimizer = job.training.optimizer};
  options.stop = interrupted;
  options.progress = [&](std::size_t i, double share) {
    const PlannedShape shape = planned(known.open[i]);
    progress.show(fmt::format("{} ({})", shape.name, shape.split), share);
  };
  const auto keep = [&](const std::vector<ProfileSpec::Entry>& measured) {
    out.profile.entries = merged(known.kept, measured);
    if (bench.speaks() && !measured.empty()) replace_file(job.path, profile_text(out.profile));
  };
  options.keep = keep;
  const LayerRounds rounds = measure_layer_rounds(*bench.device, *bench.ranks, known.open, options);
  progress.clear();
  keep(rounds.entries);
  out.rounds = rounds.rounds;
  out.measured = rounds.entries.size();
  out.interrupted = rounds.interrupted;
  for (const ProfileSpec::Entry& entry : rounds.entries)
    if (entry.time.noise > job.rule.noise) out.noisy.push_back(planned(entry.layer));
  for (const LocalLayer& layer : rounds.refused) out.refused.push_back(planned(layer));
  if (bench.speaks())
    for (const std::string& warning : rounds.warnings) hint(session, "warning: " + warning);
  return out;
}

Rates rates_of(const Bench& bench) {
  if (!bench.device) return nominal_rates(bench.backend);
  const DeviceSpec spec = measure_device(*bench.device, 1);
  Rates rates{.flop = nominal_rates("").flop, .bytes = spec.memory_bandwidth.base(), .source = "a quick run"};
  if (const auto peak = spec.peak[std::size_t(Precision::fp32)]) rates.flop = peak->base();
  return rates;
}

std::string layer_plan_text(const LayerJob& job, const DeviceFacts& facts, const Rates& rates) {
  const auto layers = job.layers();
  const std::size_t open = [&] {
    return resume(existing(job.path), empty_profile(job, facts), layers, job.rule.noise).open.size();
  }();
  std::vector<std::string> splits;
  std::size_t whole = 0;
  for (const PlannedShape& shape : job.shapes) {
    if (std::ranges::find(splits, shape.split) == splits.end()) splits.push_back(shape.split);
    whole += shape.split == "whole";
  }
  std::string out = fmt::format("Would measure {} on {}, {} (rates: {}):\n", job.model, device_text(facts),
                                about(guessed_time(layers, rates, job.rule.turns)), rates.source);
  out += fmt::format("  {} shapes x forward, backward, update: {} whole, {} cut; mini-batch {}\n",
                     layers.size(), whole, layers.size() - whole, batch_text(job.batch));
  out += fmt::format("  for {}\n", fmt::join(splits, "; "));
  if (open < layers.size())
    out += fmt::format("  {} of them are in {} already\n", layers.size() - open, job.path);
  return out + fmt::format("Would write {}\n", job.path);
}

std::string layer_summary(const LayerJob& job, const LayerOutcome& o) {
  return fmt::format(
      "Wrote {}\n layers   {} shapes of {}, mini-batch {}: {} measured in {} round{}, {} known before\n"
      " noise    {} or less in {} of {} measured\n",
      job.path, o.planned, job.model, batch_text(job.batch), o.measured, o.rounds, o.rounds == 1 ? "" : "s",
      o.known, percent(job.rule.noise), o.measured - o.noisy.size(), o.measured);
}

void warn_of(const Session& session, const LayerJob& job, const LayerOutcome& o) {
  if (!o.noisy.empty())
    hint(session, fmt::format("warning: {} shape{} stayed above a noise of {} ({}); another process may be "
                              "using the machine. Try --min-time 2s, or run it again: it goes on from here",
                              o.noisy.size(), o.noisy.size() == 1 ? "" : "s", percent(job.rule.noise),
                              joined_names(o.noisy)));
  if (!o.refused.empty())
    hint(session, fmt::format("warning: the device cannot run {} shape{} ({}): kind or size",
                              o.refused.size(), o.refused.size() == 1 ? "" : "s", joined_names(o.refused)));
  if (o.interrupted)
    hint(session, fmt::format("interrupted: what was measured is in {}; run it again to go on", job.path));
}

}  // namespace paradl::calibrate
