// paradl-calibrate rehearse: runs strategies, checks their results, and compares their times with the
// projection.
#include "calibrate/commands/rehearse.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/values.hpp"
#include "calibrate/measure/layer_plan.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/query/case.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string model, require, require_each, iterations = "3", rounds = "5", spoil;
  bool all = false, check = false;
  BenchWords bench;
  Options options;
};

Fault read_fault(const std::string& word) {
  if (word.empty()) return Fault::none;
  if (word == "halo") return Fault::halo;
  if (word == "gradient") return Fault::gradient;
  throw UsageError(fmt::format("--break {}: unknown", word), "use halo or gradient");
}

CandidateQuery candidates_of(const Query& query, const Words& words, int ranks) {
  const bool named = words.options.has("strategy");  // not only by the axes of --grid
  if (!words.all && !named)
    throw UsageError("which strategy?", "add -s data, or --all for every one that fits");
  CandidateQuery out = all_candidates();
  out.every_axis_split = words.all;
  if (named) out.strategies = *query.strategies;
  for (const StrategyName& strategy : out.strategies)
    if (strategy.out_of_core)
      blame({query.strategies.origin()},
            UsageError(fmt::format("-s {}: out-of-core training cannot be rehearsed", strategy.text),
                       "leave /ooc out"));
  if (!query.grid) return out;
  std::int64_t size = 1;
  for (const Parts& axis : *query.grid) size *= axis.total;
  blaming({query.grid.origin()}, [&] {
    if (!named) throw UsageError("--grid needs one strategy", "name it: -s data+filter");
    if (size != ranks)
      throw UsageError(
          fmt::format("the grid {} needs {} ranks, but there are {}", words.options.get("grid"), size, ranks),
          fmt::format("start it with mpirun -np {}", size));
  });
  out.grid = *query.grid;
  return out;
}

/// What --require and --require-each ask for; none: any accuracy will do.
struct Requirement {
  std::optional<double> mean, each;
};

Requirement read_requirement(const Words& words) {
  if (words.check && !(words.require.empty() && words.require_each.empty()))
    throw UsageError("--check measures no times that --require could compare", "leave one of them out");
  Requirement out;
  if (!words.require.empty()) out.mean = 0.01 * read_number("require", words.require, 0, 100);
  if (!words.require_each.empty()) out.each = 0.01 * read_number("require-each", words.require_each, 0, 100);
  return out;
}

std::optional<SystemSpec> system_of(const Query& query, Library& library) {
  if (!query.system) {
    if (!query.system_changes.empty() || !query.framework_changes.empty())
      throw UsageError("--set changes a system, but no system is named", "add --on SYSTEM");
    return {};
  }
  blaming({query.system.origin()}, [&] { library.system(*query.system); });
  return library.system(*query.system, query.system_changes);
}

Machine machine_for(const SystemSpec& system, int ranks) {
  Machine machine = build_machine(system);
  if (machine.gpus() < ranks)
    throw UsageError(
        fmt::format("{} has {} GPUs, but there are {} ranks", machine.name, machine.gpus(), ranks),
        "name a larger system with --on, or start fewer ranks");
  return machine;
}

const ProfileSpec& profile_of(const Query& query, Library& library, const Training& training) {
  return blaming(
      {query.profile.origin()}, [&]() -> const auto& {
        const ProfileSpec& profile = library.profile(*query.profile);
        check_profile(profile, training);
        return profile;
      });
}

/// Everything that was asked, for these ranks. `how` has what does not depend on them.
RehearsalJob read_job(const Query& query, const Words& words, Library& library, RehearsalOptions how,
                      const std::vector<int>& nodes) {
  const Library::Model& model = library.model(*query.model);
  RehearsalJob job{.work = model.work,
                   .candidates = {},
                   .how = std::move(how),
                   .ranks = int(nodes.size()),
                   .read = files_of(model.spec)};
  job.how.plan.batch = double(samples_of(query, job.work, nodes));
  job.how.rounds = read_count("rounds", words.rounds, 1, 1000);
  job.how.iterations = read_count("iterations", words.iterations, 1, 10'000);
  if (const auto system = system_of(query, library)) {
    job.read.push_back(system->source.file);
    job.how.machine = machine_for(*system, job.ranks);
  }
  if (query.profile) {
    const ProfileSpec& profile = profile_of(query, library, job.how.training);
    job.read.push_back(profile.source.file);
    job.how.profile = std::make_shared<const Profile>(profile);
  }
  const CandidateQuery candidates = candidates_of(query, words, job.ranks);
  job.candidates = blaming({query.grid.origin()}, [&] {
    return find_candidates(candidates, job.work, job.ranks, job.how.plan.batch);
  });
  return job;
}

enum class Verdict { passed, failed, interrupted, nothing_broken };

Verdict judge(const Rehearsal& rehearsal, Fault fault, const Requirement& required) {
  if (rehearsal.interrupted) return Verdict::interrupted;
  if (!all_right(rehearsal)) return Verdict::failed;
  if (fault != Fault::none) return Verdict::nothing_broken;
  const bool close =
      (!required.mean || (mean_accuracy(rehearsal) >= *required.mean && winner_agrees(rehearsal.results))) &&
      (!required.each || worst_accuracy(rehearsal) >= *required.each);
  return close ? Verdict::passed : Verdict::failed;
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return answered;
    case Verdict::interrupted:
      return exit_interrupted;
    case Verdict::failed:
    case Verdict::nothing_broken:
      break;
  }
  return answered_no;
}

void report(const Session& session, const Words& words, const RehearsalJob& job, const Rehearsal& rehearsal,
            Verdict verdict) {
  for (const std::string& warning : rehearsal.warnings) hint(session, "warning: " + warning);
  deliver(session, words.options, rehearsal_answer(session, job, rehearsal), {.read = job.read});
  if (verdict == Verdict::interrupted) hint(session, "interrupted: these are the results so far");
  if (verdict == Verdict::nothing_broken)
    hint(session,
         fmt::format("all results are right: none of these strategies has a {} to break", words.spoil));
}

int run(const Session& session, Words& words) {
  words.options.complete();
  Library library(session.catalog);
  refuse_unrunnable(library.model(words.model).work);
  RehearsalOptions how;
  how.fault = read_fault(words.spoil);
  how.timed = !words.check;
  const Requirement required = read_requirement(words);
  Query query = words.options.query();
  query.model = words.model;
  how.training = load_training(query, library);
  how.plan = plan_of(query);
  const Bench bench = open_bench(words.bench, how.training.precision);
  const RehearsalJob job = read_job(query, words, library, std::move(how), bench.between_devices().nodes());
  check_delivery(words.options, job.read);
  if (words.bench.dry_run) {
    if (bench.prints()) print(rehearsal_plan(job, bench.facts(), rates_of(bench)));
    return answered;
  }
  note_interrupts();
  const Rehearsal rehearsal = run_rehearsal(session, bench, job);
  const Verdict verdict = judge(rehearsal, job.how.fault, required);
  if (bench.prints()) report(session, words, job, rehearsal, verdict);
  return exit_code(verdict);
}

/// The grids of all ranks that a strategy may have, or the one that was asked for.
std::vector<Mesh> grids_of(const StrategyName& strategy, const CandidateQuery& query, const Workload& work,
                           int ranks) {
  for (const Strategy* axis : strategy.axes)
    if (!axis->usual)
      throw UsageError(fmt::format("`{}` can be projected, but not rehearsed", axis->name), "leave it out");
  const int extents = std::max(1, work.input.dims);
  std::vector<Mesh> grids =
      query.grid ? meshes(strategy, *query.grid, extents) : meshes(strategy, ranks, extents);
  std::erase_if(grids, [&](const Mesh& mesh) {
    return mesh.gpus() != ranks || (query.every_axis_split && without_ones(mesh).axes < mesh.axes);
  });
  return grids;
}

}  // namespace

CandidateQuery all_candidates() {
  CandidateQuery out;
  for (const char* name : {"data", "spatial", "filter", "channel", "tensor", "layer", "data+filter",
                           "data+spatial", "data+tensor", "data+layer"})
    out.strategies.push_back(read_strategy(name));
  return out;
}

std::vector<Candidate> find_candidates(const CandidateQuery& query, const Workload& work, int ranks,
                                       double samples) {
  std::vector<Candidate> out;
  std::string reason;
  for (const StrategyName& strategy : query.strategies)
    for (const Mesh& mesh : grids_of(strategy, query, work, ranks)) {
      const std::string limit = broken_limit(work, mesh, samples);
      if (limit.empty()) {
        out.push_back({strategy, mesh});
        break;
      }
      reason = limit;
    }
  if (out.empty())
    throw UsageError(fmt::format("no strategy fits {} on {} rank{}{}", work.name, ranks,
                                 ranks == 1 ? "" : "s", reason.empty() ? "" : ": " + reason),
                     ranks == 1 ? "start it with mpirun -np 2" : "use a larger -b, or another strategy");
  return out;
}

Rehearsal run_rehearsal(const Session& session, const Bench& bench, const RehearsalJob& job) {
  Progress progress(session, bench.prints());
  RehearsalOptions how = job.how;
  how.progress = [&](const std::string& what, double share) { progress.show(what, share); };
  how.stop = interrupted;
  return rehearse(job.work, job.candidates, how, *bench.device, bench.between_devices());
}

void define_rehearse(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("rehearse", "run strategies, and compare them with the projection");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .required = true});
  command.flag("--all", words->all, {.help = "every strategy that fits the ranks"});
  command.text("--iterations", words->iterations,
               {.help = "timed iterations of each strategy in a round; default 3", .meta = "N"});
  command.text("--rounds", words->rounds,
               {.help = "rounds of measuring and running in turn; default 5", .meta = "N"});
  command.flag("--check", words->check,
               {.help = "only compare the result with that of one rank, without timing"});
  command.text("--break", words->spoil,
               {.help = "make a mistake on purpose, to see it reported: halo or gradient", .meta = "WHAT"});
  command.text(
      "--require", words->require,
      {.help = "exit 1 if the mean accuracy is below N %, or the fastest strategy is not the projected one",
       .meta = "N"});
  command.text("--require-each", words->require_each,
               {.help = "exit 1 if the accuracy of any strategy is below N %", .meta = "N"});
  words->bench.define(command);
  words->options.define_only(command, {"on", "batch", "strategy", "grid", "profile", "optimizer", "precision",
                                       "micro-batches", "schedule", "reduction", "format"});
  command.footer(R"(Examples:
  mpirun -np 2 paradl-calibrate rehearse models/cifar-cnn.yaml --all -b 16
  mpirun -np 4 paradl-calibrate rehearse resnet18 -s data+filter --grid data=2,filter=2 -b 8
  mpirun -np 2 paradl-calibrate rehearse gpt:layers=2,hidden=64,heads=4,seq=32,vocab=100,tied=0 -s tensor --check)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
