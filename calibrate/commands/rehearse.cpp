// paradl-calibrate rehearse: runs strategies for real, and puts the oracle's projection beside them.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/rehearsal_table.hpp"
#include "calibrate/commands/rehearse_job.hpp"
#include "calibrate/measure/layer_plan.hpp"
#include "calibrate/rehearse/rehearsal.hpp"
#include "paradl/cli/ask.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string model, backend, require, require_each, iterations = "3", rounds = "5", spoil;
  bool all = false, check = false, dry_run = false;
  Options options;
};

Fault read_fault(const std::string& word) {
  if (word.empty()) return Fault::none;
  if (word == "halo") return Fault::halo;
  if (word == "gradient") return Fault::gradient;
  throw UsageError(fmt::format("--break {}: not known", word), "use halo or gradient");
}

std::vector<StrategyName> read_strategies(const std::string& text) {
  std::vector<StrategyName> out;
  for (const std::string& name : split_list(text, ',')) {
    out.push_back(read_strategy(name));
    if (out.back().out_of_core)
      throw UsageError(fmt::format("-s {}: what lies on the host cannot be rehearsed", name),
                       "leave /ooc out");
  }
  if (out.empty()) throw UsageError(fmt::format("-s {} names none", text), "write -s data, or --all");
  return out;
}

std::vector<Candidate> read_candidates(const Words& words, const Workload& work, int ranks, double samples) {
  const Options& options = words.options;
  if (!words.all && !options.has("strategy"))
    throw UsageError("which strategy?", "add -s data, or --all for every one that fits");
  const auto strategies =
      options.has("strategy") ? options.read("strategy", "", read_strategies) : all_strategies();
  return options.read("grid", "", [&](const std::string& grid) {
    return find_candidates(strategies, grid, words.all ? Ones::refused : Ones::allowed, work, ranks, samples);
  });
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const Options& options = words.options;
  const auto [spec, work] = load_model(session.catalog, words.model);
  check_delivery(options);
  refuse_unrunnable(work);
  const Fault fault = read_fault(words.spoil);
  if (words.check && !(words.require.empty() && words.require_each.empty()))
    throw UsageError("--check times nothing that --require could be compared with", "leave one of them out");
  const double require = words.require.empty() ? 0 : read_number("require", words.require, 0, 100);
  const double require_each =
      words.require_each.empty() ? 0 : read_number("require-each", words.require_each, 0, 100);
  const Training training = read_training(session.catalog, options);
  const Bench bench =
      open_bench(words.backend, training.precision, words.dry_run ? Absent::allowed : Absent::refused);
  Communicator& ranks = bench.between_devices();
  const int nodes = 1 + std::ranges::max(ranks.nodes());

  RehearsalOptions how;
  how.training = training;
  how.batch = read_samples(options, work, ranks.size(), nodes);
  how.rounds = read_count("rounds", words.rounds, 1, 1000);
  how.iterations = read_count("iterations", words.iterations, 1, 10'000);
  how.timed = !words.check;
  how.fault = fault;
  std::optional<Machine> machine;
  if (options.has("on"))
    machine = build_machine(session.catalog.system(
        options.read("on", "",
                     [&](const std::string& name) { return session.catalog.find("systems", name); }),
        read_overrides(options.sets()).system));
  else if (!options.sets().empty())
    throw UsageError("--set changes a system, and none is named", "add --on SYSTEM");
  if (machine && machine->gpus() < ranks.size())
    throw UsageError(
        fmt::format("{} has {} GPUs, and there are {} ranks", machine->name, machine->gpus(), ranks.size()),
        "name a larger system with --on, or start fewer ranks");
  if (machine) how.machine = &*machine;
  if (options.has("profile")) {
    how.profile = options.read("profile", "", [&](const std::string& name) {
      ProfileSpec profile = read_profile(session.catalog.find("profiles", name));
      check_profile(profile, training);
      return std::make_shared<Profile>(std::move(profile));
    });
  }
  const auto candidates = read_candidates(words, work, ranks.size(), double(how.batch));
  if (words.dry_run) {
    if (bench.speaks())
      print(rehearsal_plan(work, candidates, how, bench.facts(), rates_of(bench), ranks.size()));
    return answered;
  }
  Progress progress(session, bench.speaks());
  how.progress = [&](const std::string& what, double share) { progress.show(what, share); };
  note_interrupts();
  how.stop = interrupted;
  const Rehearsal rehearsal = rehearse(work, candidates, how, *bench.device, ranks);
  progress.clear();
  if (bench.speaks()) {
    for (const std::string& warning : rehearsal.warnings) hint(session, "warning: " + warning);
    deliver(session, options, [&](const std::string& format, Style style) {
      return rehearsal_text(format, style, session, work, how, rehearsal, ranks.size());
    });
  }
  if (rehearsal.interrupted) {
    if (bench.speaks()) hint(session, "interrupted: this is what was done until then");
    return exit_interrupted;
  }
  if (fault != Fault::none && all_right(rehearsal)) {
    if (bench.speaks())
      hint(session,
           fmt::format("nothing was wrong: none of these strategies has a {} to break", words.spoil));
    return answered_no;
  }
  const bool close = (words.require.empty() || mean_accuracy(rehearsal) >= 0.01 * require) &&
                     (words.require_each.empty() || worst_accuracy(rehearsal) >= 0.01 * require_each) &&
                     (words.require.empty() || winner_agrees(rehearsal.results));
  return all_right(rehearsal) && close ? answered : answered_no;
}

}  // namespace

void define_rehearse(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("rehearse", "run strategies for real, beside the oracle's projection");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .required = true});
  command.flag("--all", words->all, {.help = "every strategy that fits the ranks"});
  command.text("--backend", words->backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.text("--iterations", words->iterations,
               {.help = "timed iterations of each strategy in a round; default 3", .meta = "N"});
  command.text("--rounds", words->rounds,
               {.help = "of measuring and running in turn; default 5", .meta = "N"});
  command.flag("--check", words->check, {.help = "only whether the result is that of one PE; no timing"});
  command.text("--break", words->spoil,
               {.help = "do something wrong on purpose, to see it reported: halo, gradient", .meta = "WHAT"});
  command.text("--require", words->require,
               {.help = "exit 1 if the mean accuracy is below N %, or another strategy wins than projected",
                .meta = "N"});
  command.text("--require-each", words->require_each,
               {.help = "exit 1 if the accuracy of any strategy is below N %", .meta = "N"});
  command.flag("--dry-run", words->dry_run, {.help = "what would be run, and about how long it takes"});
  words->options.define_only(command, {"on", "batch", "strategy", "grid", "profile", "optimizer", "precision",
                                       "micro-batches", "schedule", "reduction", "format"});
  command.footer(R"(Examples:
  mpirun -np 2 paradl-calibrate rehearse models/cifar-cnn.yaml --all -b 16
  mpirun -np 4 paradl-calibrate rehearse resnet18 -s data+filter --grid data=2,filter=2 -b 8
  mpirun -np 2 paradl-calibrate rehearse gpt:layers=2,hidden=64,heads=4,seq=32,vocab=100,tied=0 -s tensor --check)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
