// paradl-calibrate all: links, layers, contention and a rehearsal of one machine.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/contention.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layers.hpp"
#include "calibrate/commands/links.hpp"
#include "calibrate/commands/rehearse.hpp"
#include "calibrate/commands/values.hpp"
#include "calibrate/files/profile_file.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/console/options.hpp"
#include "paradl/core/format.hpp"
#include "paradl/query/case.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string name, model, link_time = "30s";
  BenchWords bench;
  LayerRuleWords rule;
  Options options;
};

/// All measurements, read and checked before the first one starts.
struct Plan {
  LinkTarget system;
  LinkOptions links;
  LayerJob layers;
  ContentionJob contention;
  RehearsalJob rehearsal;  // one rank has no candidates
};

Plan read_plan(const Session& session, const Words& words, const Query& query, const Workload& work,
               const Training& training, const Bench& bench) {
  const auto nodes = bench.ranks->nodes();
  const int ranks = int(nodes.size());
  const std::int64_t samples = samples_of(query, work, nodes);
  Plan plan{.system = find_target(session, words.name, "")};
  plan.links.time = read_seconds("link-time", words.link_time);
  plan.links.most = std::clamp(largest_buffer(work, double(samples)), Bytes{1e6}, Bytes{256e6});

  LayerJob& layers = plan.layers;
  layers.training = training;
  layers.rule = words.rule.read();
  layers.model = work.name;
  layers.name = fmt::format("{}-{}", plan.system.name, plain_word(work.name));
  layers.path = fmt::format("profiles/{}.yaml", layers.name);
  layers.batch = {.per = BatchRule::Per::whole, .value = double(samples)};

  plan.contention.options.time = Seconds{15};
  plan.contention.work = work;
  plan.contention.batch = layers.batch;
  plan.contention.kept_path = plan.system.path + ".samples";

  RehearsalJob& rehearsal = plan.rehearsal;
  rehearsal.work = work;
  rehearsal.how.training = layers.training;
  rehearsal.how.plan.batch = double(samples);
  rehearsal.ranks = ranks;
  if (ranks > 1) rehearsal.candidates = find_candidates(all_candidates(), work, ranks, double(samples));

  auto splits = default_splits(work, layers.batch);
  for (const Candidate& c : rehearsal.candidates) splits.push_back(without_ones(c.mesh));
  layers.shapes = plan_shapes(work, splits, layers.training, layers.batch);
  return plan;
}

std::string plan_text(const Plan& plan, const Bench& bench) {
  const Rates rates = rates_of(bench);
  const int ranks = bench.ranks->size();
  double turn = 0;  // of the whole network
  for (const PlannedShape& s : plan.layers.shapes)
    if (s.whole()) turn += guessed_turn(s.layer, rates).base();
  const Seconds layers = guessed_time(plan.layers.layers(), rates, plan.layers.rule.turns);
  const RehearsalOptions& how = plan.rehearsal.how;
  const double strategies = double(plan.rehearsal.candidates.size());
  const Seconds rehearsed{strategies * how.iterations * how.rounds * turn};
  const Seconds contention{ranks > 1 ? (ranks > 3 ? 20.0 : 6.0) : 0.0};
  const Seconds total = layers + rehearsed + contention + (ranks > 1 ? plan.links.time : Seconds{});
  std::string out = fmt::format("Would measure on {}, {}, {}:\n", device_text(bench.facts()),
                                ranks_text(bench.ranks->nodes()), about(total));
  out += fmt::format("  {:3} shapes of {} x forward, backward, update; mini-batch {}\n",
                     plan.layers.shapes.size(), plan.layers.model, how.plan.batch);
  if (ranks > 1) {
    out += fmt::format("  links: five operations, sizes up to {}, {} at most\n", decimal(plan.links.most),
                       text(plan.links.time));
    out += "  contention of memory" + std::string(ranks > 3 ? " and flows\n" : "\n");
    out += fmt::format("  {:3} strategies, rehearsed and compared with the projection\n", strategies);
  } else {
    out += "  no links, no contention, no rehearsal: these need several ranks (mpirun -np 2)\n";
  }
  return out + fmt::format("Would {} {}\nWould write {}\n",
                           plan.system.existing ? "change the levels in" : "write", plan.system.path,
                           plan.layers.path);
}

/// Measures links and the device, and writes the system file. The points are kept until all measurements are
/// complete. False if it was interrupted.
bool write_system(const Session& session, const Bench& bench, const Plan& plan, const Kept& kept) {
  const auto nodes = bench.ranks->nodes();
  std::vector<MeasuredLevel> levels{{.level = GroupLevel::node, .size = 1, .fits = {}}};
  if (nodes.size() > 1) {
    const LinkMeasurement links = run_links(session, bench, plan.links, kept);
    if (links.interrupted) return false;
    if (bench.prints()) kept.write(links.points);
    levels = measured_levels(links.points, nodes);
  }
  // On all ranks at the same time, because they share the memory bandwidth.
  const DeviceSpec device = measure_device(*bench.device, int(std::ranges::count(nodes, 0)));
  if (!bench.prints()) return true;
  replace_file(plan.system.path, target_text(plan.system, levels, device, provenance_of(bench)));
  print(fmt::format("Wrote {}\n{}\n", plan.system.path, links_summary(levels)));
  return true;
}

int rehearse_all(const Session& session, const Bench& bench, const RehearsalJob& job) {
  const Rehearsal rehearsal = run_rehearsal(session, bench, job);
  if (bench.prints()) {
    for (const std::string& warning : rehearsal.warnings) hint(session, "warning: " + warning);
    print("\n" + rehearsal_answer(session, job, rehearsal).text(session.style()));
  }
  if (rehearsal.interrupted) return exit_interrupted;
  return all_right(rehearsal) ? answered : answered_no;
}

/// Contention and a rehearsal, which need several ranks.
int run_on_ranks(const Session& session, const Bench& bench, const Plan& plan) {
  const ContentionOutcome contention = run_contention(session, bench, plan.contention);
  if (contention.interrupted) return exit_interrupted;
  if (bench.prints()) print("\n" + contention_text(contention, session.style()));
  return rehearse_all(session, bench, plan.rehearsal);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  if (words.model.empty()) throw UsageError("the model is missing", "add --model resnet50");
  // Mistakes in files and options are reported before ranks start.
  Library library(session.catalog);
  const Workload& work = library.model(words.model).work;
  const Query query = words.options.query();
  const Training training = load_training(query, library);
  const Bench bench = open_bench(words.bench, training.precision);
  const Plan plan = read_plan(session, words, query, work, training, bench);
  if (words.bench.dry_run) {
    if (bench.prints()) print(plan_text(plan, bench));
    return answered;
  }
  if (bench.prints())
    for (const std::string& path : {plan.system.path, plan.layers.path}) demand_writable(path);
  note_interrupts();
  const Kept kept(plan.system.path + ".points", provenance_of(bench).tool);
  if (!write_system(session, bench, plan, kept)) return exit_interrupted;
  const LayerOutcome layers = run_layers(session, bench, plan.layers);
  if (bench.prints()) {
    print(layer_summary(plan.layers, layers));
    warn_of_layers(session, plan.layers, layers);
  }
  if (layers.interrupted) return exit_interrupted;
  const int ranks = bench.ranks->size();
  const int code = ranks > 1 ? run_on_ranks(session, bench, plan) : answered;
  if (code == exit_interrupted || !bench.prints()) return code;
  kept.remove();
  print(fmt::format("\nWrote {} and {}. Use them:\n  paradl advise {} --on {} -p {} -b {} --profile {}\n",
                    plan.system.path, plan.layers.path, words.model, plan.system.name, ranks,
                    plan.rehearsal.how.plan.batch, plan.layers.name));
  return code;
}

}  // namespace

void define_all(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("all", "measure links, layers and contention, and rehearse strategies");
  command.text("NAME", words->name,
               {.help = "name of this machine; writes systems/NAME.yaml and profiles/NAME-MODEL.yaml",
                .required = true});
  command.text("--model", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .meta = "MODEL"});
  command.text("--link-time", words->link_time, {.help = "time for the links; default 30s", .meta = "TIME"});
  words->bench.define(command);
  words->rule.define(command);
  words->options.define_only(command, {"batch", "precision", "optimizer"});
  command.footer(
      R"(Ctrl-C keeps the links, layers and contention measured so far, and the next run continues from there.

Examples:
  paradl-calibrate all laptop --model tiny-cnn -b 16 --dry-run
  mpirun -np 2 paradl-calibrate all laptop --model tiny-cnn -b 16
  srun -n 8 paradl-calibrate all lab --model resnet50 -b 32/gpu --backend cuda)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
