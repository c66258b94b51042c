// paradl-calibrate layers: times of each layer's passes, whole and as strategies cut it -> profiles/.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/files/profile_file.hpp"
#include "calibrate/files/replace_file.hpp"
#include "paradl/query/case.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/profile_table.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string model, backend, name;
  std::vector<std::string> splits;
  bool dry_run = false;
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

LayerJob read_job(const Session& session, const Words& words, const Workload& work) {
  LayerJob job{.name = words.name, .model = work.name};
  job.training = load_training(words.options.query(), session.catalog);
  job.batch = read_layer_batch(words.options, work);
  job.rule = words.rule.read();
  job.shapes = plan_shapes(work, read_splits(words, work, job.batch), job.training, job.batch);
  if (words.options.outputs().size() > 1)
    throw UsageError("a profile is written to one file", "leave one -o out");
  return job;
}

/// Names come from the device unless they were typed.
void settle_name(LayerJob& job, const Words& words, const DeviceFacts& facts) {
  if (job.name.empty())
    job.name = default_profile_name(facts.name, job.model, job.training.precision, job.training.optimizer);
  job.path = words.options.outputs().empty() ? fmt::format("profiles/{}.yaml", job.name)
                                             : words.options.outputs().front();
}

int dry_run(const Words& words, LayerJob job) {
  const Bench bench = open_bench(words.backend, job.training.precision, Absent::allowed);
  if (!bench.device && job.name.empty()) job.name = "DEVICE-" + job.model;
  settle_name(job, words, bench.facts());
  if (bench.speaks()) print(layer_plan_text(job, bench.facts(), rates_of(bench)));
  return answered;
}

std::string answer(const std::string& format, Style style, const Session& session, const LayerJob& job,
                   const LayerOutcome& outcome) {
  constexpr std::size_t most = 8;
  if (format == "json") {
    nlohmann::ordered_json out = json_header("paradl.profile/1", session.arguments, {});
    out["file"] = job.path;
    out["interrupted"] = outcome.interrupted;
    out["rounds"] = outcome.rounds;
    out["shapes"] = {{"planned", outcome.planned},
                     {"known", outcome.known},
                     {"noisy", outcome.noisy.size()},
                     {"refused", outcome.refused.size()}};
    out.update(profile_json(outcome.profile));
    return out.dump(2) + "\n";
  }
  if (format != "text")
    return render_table(format, slowest_shapes(outcome.profile.entries, job.shapes.size()));
  return fmt::format("{}\n{}\nUse it: paradl project {} --on SYSTEM --profile {}\n",
                     layer_summary(job, outcome),
                     to_text(slowest_shapes(outcome.profile.entries, most), style).text, job.model,
                     job.path == fmt::format("profiles/{}.yaml", job.name) ? job.name : job.path);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const auto [spec, work] = load_model(session.catalog, words.model);
  check_format(words.options);
  if (!words.name.empty()) check_name(words.name);
  LayerJob job = read_job(session, words, work);
  if (words.dry_run) return dry_run(words, std::move(job));
  const Bench bench = open_bench(words.backend, job.training.precision);
  settle_name(job, words, bench.device->facts());
  if (bench.speaks()) demand_writable(job.path);
  note_interrupts();
  const LayerOutcome outcome = run_layers(session, bench, job);
  if (bench.speaks()) {
    print(words.options.read("format", "text", [&](const std::string& format) {
      return answer(format, session.style(), session, job, outcome);
    }));
    warn_of(session, job, outcome);
  }
  return outcome.interrupted ? exit_interrupted : answered;
}

}  // namespace

void define_layers(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("layers", "times of each layer's passes, whole and as strategies cut it");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .required = true});
  command.texts(
      "--split", words->splits,
      {.help = "filter=2,4; spatial=2x2; data+filter=2x2; repeatable; default: every strategy in two",
       .meta = "STRATEGY=SIZES"});
  command.text("--name", words->name, {.help = "of the profile; default: device and model", .meta = "NAME"});
  command.text("--backend", words->backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.flag("--dry-run", words->dry_run, {.help = "what would be measured, and about how long it takes"});
  words->rule.define(command);
  words->options.define_only(command, {"batch", "precision", "optimizer", "micro-batches", "format"},
                             "write the profile there; default profiles/NAME.yaml");
  command.footer(R"(Ctrl-C keeps what was measured, and the next run goes on from there.

Examples:
  paradl-calibrate layers tiny-cnn -b 16
  paradl-calibrate layers resnet50 -b 32/gpu --split data=2,4 --split filter=2,4 --name lab-resnet50
  mpirun -np 2 paradl-calibrate layers vgg16 -b 8 --dry-run)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
