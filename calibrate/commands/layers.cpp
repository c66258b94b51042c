// paradl-calibrate layers: times of each layer's passes, whole and as strategies split it -> profiles/.
#include "calibrate/commands/layers.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/values.hpp"
#include "calibrate/files/profile_file.hpp"
#include "calibrate/files/replace_file.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/core/format.hpp"
#include "paradl/query/case.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/profile_table.hpp"

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

/// All ranks measure what rank 0 misses in its file: other nodes may not have the file.
Resumed agreed_resume(const Session& session, const Bench& bench, const LayerJob& job,
                      const ProfileSpec& now) {
  const auto layers = job.layers();
  Resumed mine;
  if (bench.prints()) mine = resume(existing(job.path), now, layers, job.rule.noise);
  Resumed out{.kept = mine.kept, .open = {}, .why_not = mine.why_not};
  std::vector<LocalLayer> noisy;  // last: a second interruption should not cost new shapes
  for (const LocalLayer& layer : layers) {
    constexpr double known = 0, too_noisy = 1, missing = 2;
    const bool kept = std::ranges::find(mine.kept, layer, &ProfileSpec::Entry::layer) != mine.kept.end();
    const bool open = std::ranges::find(mine.open, layer) != mine.open.end();
    const double state = bench.ranks->gather(!open ? known : kept ? too_noisy : missing).front();
    if (state != known) (state == missing ? out.open : noisy).push_back(layer);
  }
  out.open.insert(out.open.end(), noisy.begin(), noisy.end());
  if (bench.prints() && !out.why_not.empty())
    hint(session, fmt::format("{} was measured {}: all shapes are measured again", job.path, out.why_not));
  if (bench.prints() && layers.size() > out.open.size())
    hint(session, fmt::format("{} of {} shapes are in {} already; remove the file to measure them again",
                              layers.size() - out.open.size(), layers.size(), job.path));
  return out;
}

std::string joined_names(const std::vector<PlannedShape>& shapes) {
  constexpr std::size_t most = 4;
  std::vector<std::string> names;
  for (const PlannedShape& s : shapes) {
    const std::string name = s.whole() ? s.name : fmt::format("{} {}", s.name, split_text(s.mesh));
    if (names.size() < most) names.push_back(name);
  }
  return fmt::format("{}{}", fmt::join(names, ", "), shapes.size() > most ? ", ..." : "");
}

std::string batch_text(const BatchRule& batch) {
  return fmt::format("{}{}", batch.value, batch.per == BatchRule::Per::gpu ? " per rank" : "");
}

std::string plan_text(const LayerJob& job, const DeviceFacts& facts, const Rates& rates) {
  const auto layers = job.layers();
  const std::size_t open =
      resume(existing(job.path), empty_profile(job, facts), layers, job.rule.noise).open.size();
  std::vector<std::string> splits;
  std::size_t whole = 0;
  for (const PlannedShape& shape : job.shapes) {
    const std::string split = split_text(shape.mesh);
    if (std::ranges::find(splits, split) == splits.end()) splits.push_back(split);
    whole += shape.whole();
  }
  std::string out = fmt::format("Would measure {} on {}, {} (rates: {}):\n", job.model, device_text(facts),
                                about(guessed_time(layers, rates, job.rule.turns)), rates.source);
  out += fmt::format("  {} shapes x forward, backward, update: {} whole, {} split; mini-batch {}\n",
                     layers.size(), whole, layers.size() - whole, batch_text(job.batch));
  out += fmt::format("  for {}\n", fmt::join(splits, "; "));
  if (open < layers.size())
    out += fmt::format("  {} of them are in {} already\n", layers.size() - open, job.path);
  return out + fmt::format("Would write {}\n", job.path);
}

struct Words {
  std::string model, name;
  std::vector<std::string> splits;
  BenchWords bench;
  LayerRuleWords rule;
  Options options;
};

std::vector<Mesh> read_splits(const Words& words, const Workload& work, const BatchRule& batch) {
  if (words.splits.empty()) return default_splits(work, batch);
  std::vector<Mesh> out;
  for (const std::string& word : words.splits)
    for (const Mesh& mesh : read_split(word, work, batch)) out.push_back(mesh);
  return out;
}

LayerJob read_job(const Words& words, const Workload& work, Library& library) {
  LayerJob job{.name = words.name, .model = work.name};
  const Query query = words.options.query();
  job.training = load_training(query, library);
  job.batch = layer_batch(query, work);
  job.rule = words.rule.read();
  job.shapes =
      plan_shapes(work, read_splits(words, work, job.batch), job.training, job.batch, plan_of(query));
  if (words.options.outputs().size() > 1)
    throw UsageError("a profile is written to one file", "leave one -o out");
  return job;
}

/// The default name is made of the device and the model.
void settle_name(LayerJob& job, const Words& words, const Bench& bench) {
  if (job.name.empty() && !bench.device) job.name = "DEVICE-" + job.model;
  if (job.name.empty())
    job.name =
        default_profile_name(bench.facts().name, job.model, job.training.precision, job.training.optimizer);
  job.path = words.options.outputs().empty() ? fmt::format("profiles/{}.yaml", job.name)
                                             : words.options.outputs().front();
}

nlohmann::ordered_json answer_json(const Session& session, const LayerJob& job, const LayerOutcome& outcome) {
  nlohmann::ordered_json out = json_header("paradl.profile/1", session.arguments, {});
  out["file"] = job.path;
  out["interrupted"] = outcome.interrupted;
  out["rounds"] = outcome.rounds;
  out["shapes"] = {{"planned", outcome.planned},
                   {"known", outcome.known},
                   {"noisy", outcome.noisy.size()},
                   {"refused", outcome.refused.size()}};
  out.update(profile_json(outcome.profile));
  return out;
}

std::string answer_text(const Style& style, const LayerJob& job, const LayerOutcome& outcome) {
  constexpr std::size_t most = 8;
  return fmt::format("{}\n{}\nUse it: paradl project {} --on SYSTEM --profile {}\n",
                     layer_summary(job, outcome),
                     to_text(slowest_shapes(outcome.profile.entries, most), style).text, job.model,
                     job.path == fmt::format("profiles/{}.yaml", job.name) ? job.name : job.path);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  Library library(session.catalog);
  const auto& [spec, work] = library.model(words.model);
  words.options.format();  // a mistake in -f must not cost a measurement
  if (!words.name.empty()) check_name(words.name);
  LayerJob job = read_job(words, work, library);
  const Bench bench = open_bench(words.bench, job.training.precision);
  settle_name(job, words, bench);
  refuse_overwriting({job.path}, files_of(spec));
  if (words.bench.dry_run) {
    if (bench.prints()) print(plan_text(job, bench.facts(), rates_of(bench)));
    return answered;
  }
  if (bench.prints()) demand_writable(job.path);
  note_interrupts();
  const LayerOutcome outcome = run_layers(session, bench, job);
  if (bench.prints()) {
    print_answer(session, words.options,
                 {.text = [&](const Style& style) { return answer_text(style, job, outcome); },
                  .table = [&](ReadBy) { return slowest_shapes(outcome.profile.entries, job.shapes.size()); },
                  .json = [&] { return answer_json(session, job, outcome); }});
    warn_of_layers(session, job, outcome);
  }
  return outcome.interrupted ? exit_interrupted : answered;
}

}  // namespace

std::vector<LocalLayer> LayerJob::layers() const {
  std::vector<LocalLayer> out;
  for (const PlannedShape& shape : shapes) out.push_back(shape.layer);
  return out;
}

LayerOutcome run_layers(const Session& session, const Bench& bench, const LayerJob& job) {
  LayerOutcome out{.profile = empty_profile(job, bench.device->facts()), .planned = job.shapes.size()};
  const Resumed known = agreed_resume(session, bench, job, out.profile);
  out.known = job.shapes.size() - known.open.size();
  out.profile.entries = known.kept;
  const auto planned = [&](const LocalLayer& layer) {
    return *std::ranges::find(job.shapes, layer, &PlannedShape::layer);
  };

  Progress progress(session, bench.prints());
  LayerRoundsOptions options{.rule = job.rule, .optimizer = job.training.optimizer};
  options.stop = interrupted;
  options.progress = [&](std::size_t i, double share) {
    const PlannedShape shape = planned(known.open[i]);
    progress.show(fmt::format("{} ({})", shape.name, split_text(shape.mesh)), share);
  };
  const auto keep = [&](const std::vector<ProfileSpec::Entry>& measured) {
    out.profile.entries = merged(known.kept, measured);
    if (bench.prints() && !measured.empty()) replace_file(job.path, profile_text(out.profile));
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
  if (bench.prints())
    for (const std::string& warning : rounds.warnings) hint(session, "warning: " + warning);
  return out;
}

std::string layer_summary(const LayerJob& job, const LayerOutcome& o) {
  return fmt::format(
      "Wrote {}\n layers   {} shapes of {}, mini-batch {}: {} measured in {} round{}, {} known before\n"
      " noise    {} or less in {} of {} measured\n",
      job.path, o.planned, job.model, batch_text(job.batch), o.measured, o.rounds, o.rounds == 1 ? "" : "s",
      o.known, percent(job.rule.noise), o.measured - o.noisy.size(), o.measured);
}

void warn_of_layers(const Session& session, const LayerJob& job, const LayerOutcome& o) {
  if (!o.noisy.empty())
    hint(session,
         fmt::format("warning: {} shape{} stayed above a noise of {} ({}); another process may be "
                     "using the machine. Try --min-time 2s, or run it again to measure these once more",
                     o.noisy.size(), o.noisy.size() == 1 ? "" : "s", percent(job.rule.noise),
                     joined_names(o.noisy)));
  if (!o.refused.empty())
    hint(session,
         fmt::format("warning: the device does not support {} shape{} ({}), because of its operation or size",
                     o.refused.size(), o.refused.size() == 1 ? "" : "s", joined_names(o.refused)));
  if (o.interrupted) hint(session, interrupted_text(job.path));
}

void define_layers(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("layers", "times of each layer's passes, whole and as strategies split it");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .required = true});
  command.texts(
      "--split", words->splits,
      {.help = "filter=2,4; spatial=2x2; data+filter=2x2; repeatable; default: every strategy in two",
       .meta = "STRATEGY=SIZES"});
  command.text("--name", words->name,
               {.help = "name of the profile; default: device and model", .meta = "NAME"});
  words->bench.define(command);
  words->rule.define(command);
  words->options.define_only(command, {"batch", "precision", "optimizer", "micro-batches", "format"},
                             "write the profile there; default profiles/NAME.yaml");
  command.footer(R"(Ctrl-C keeps the measurements so far, and the next run continues from there.

Examples:
  paradl-calibrate layers tiny-cnn -b 16
  paradl-calibrate layers resnet50 -b 32/gpu --split data=2,4 --split filter=2,4 --name lab-resnet50
  mpirun -np 2 paradl-calibrate layers vgg16 -b 8 --dry-run)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
