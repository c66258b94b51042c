// paradl-calibrate all: links, layers, contention and a rehearsal of one machine, in one go.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/contention_job.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/commands/link_job.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/rehearsal_table.hpp"
#include "calibrate/commands/rehearse_job.hpp"
#include "calibrate/files/profile_file.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/measure/kept_points.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/query/case.hpp"
#include "paradl/core/format.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string name, model, backend, link_time = "30s";
  bool dry_run = false;
  LayerRuleWords rule;
  Options options;
};

/// Everything that will be measured, read and checked before anything is.
struct Plan {
  Workload work;
  LinkTarget system;
  LinkOptions links;
  LayerJob layers;
  std::vector<Candidate> candidates;  // empty: one rank rehearses nothing
  std::int64_t batch = 1;
};

Plan read_plan(const Session& session, const Words& words, const Bench& bench) {
  Plan plan{.work = load_model(session.catalog, words.model).second};
  const int ranks = bench.ranks->size(), nodes = 1 + std::ranges::max(bench.ranks->nodes());
  plan.system = find_target(session, words.name, "");
  plan.batch = read_samples(words.options, plan.work, ranks, nodes);
  plan.links.time = read_seconds("link-time", words.link_time);
  plan.links.most = std::clamp(largest_buffer(plan.work, plan.batch), Bytes{1e6}, Bytes{256e6});
  plan.layers.training = load_training(words.options.query(), session.catalog);
  plan.layers.rule = words.rule.read();
  plan.layers.model = plan.work.name;
  plan.layers.name = fmt::format("{}-{}", plan.system.name, plain_word(plan.work.name));
  plan.layers.path = fmt::format("profiles/{}.yaml", plan.layers.name);
  plan.layers.batch = {.per = BatchRule::Per::whole, .value = double(plan.batch)};
  auto splits = default_splits(plan.work, plan.layers.batch);
  if (ranks > 1) {
    plan.candidates =
        find_candidates(all_strategies(), "", Ones::refused, plan.work, ranks, double(plan.batch));
    for (const Candidate& c : plan.candidates) splits.push_back(without_ones(c.mesh));
  }
  plan.layers.shapes = plan_shapes(plan.work, splits, plan.layers.training, plan.layers.batch);
  return plan;
}

std::string plan_text(const Plan& plan, const Bench& bench) {
  const Rates rates = rates_of(bench);
  const int ranks = bench.ranks->size();
  double turn = 0;  // of the whole network
  for (const PlannedShape& s : plan.layers.shapes)
    if (s.split == "whole") turn += guessed_turn(s.layer, rates).base();
  const Seconds layers = guessed_time(plan.layers.layers(), rates, plan.layers.rule.turns);
  const Seconds rehearsed{double(plan.candidates.size()) * 3 * 5 * turn};
  const Seconds contention{ranks > 1 ? (ranks > 3 ? 20.0 : 6.0) : 0.0};
  const Seconds total = layers + rehearsed + contention + (ranks > 1 ? plan.links.time : Seconds{});
  std::string out = fmt::format("Would measure on {}, {}, {}:\n", device_text(bench.facts()),
                                ranks_text(bench.ranks->nodes()), about(total));
  out += fmt::format("  {:3} shapes of {} x forward, backward, update; mini-batch {}\n",
                     plan.layers.shapes.size(), plan.work.name, plan.batch);
  if (ranks > 1) {
    out += fmt::format("  links: five operations, sizes up to {}, {} at most\n", decimal(plan.links.most),
                       text(plan.links.time));
    out += "  contention of memory" + std::string(ranks > 3 ? " and flows\n" : "\n");
    out += fmt::format("  {:3} strategies rehearsed beside their projection\n", plan.candidates.size());
  } else {
    out += "  no links, no contention, no rehearsal: those need ranks (mpirun -np 2)\n";
  }
  return out + fmt::format("Would {} {}\nWould write {}\n",
                           plan.system.existing ? "change the levels in" : "write", plan.system.path,
                           plan.layers.path);
}

/// Links and the device, written to the system file. Their points are kept until all is done. False if it was
/// interrupted.
bool write_system(const Session& session, const Bench& bench, const Plan& plan, const KeptPoints& kept) {
  const auto nodes = bench.ranks->nodes();
  std::vector<MeasuredLevel> levels{{.name = std::string(level_node), .size = 1, .fits = {}}};
  if (nodes.size() > 1) {
    const LinkMeasurement links = run_links(session, bench, plan.links, kept);
    if (links.interrupted) return false;
    if (bench.speaks()) kept.write(links.points);
    levels = measured_levels(links.points, nodes);
  }
  // All ranks at once, as they share what they measure.
  const DeviceSpec device = measure_device(*bench.device, int(std::ranges::count(nodes, 0)));
  if (!bench.speaks()) return true;
  replace_file(plan.system.path, target_text(plan.system, levels, device, provenance_of(bench)));
  print(fmt::format("Wrote {}\n{}\n", plan.system.path, links_summary(levels)));
  return true;
}

int rehearse_all(const Session& session, const Bench& bench, const Plan& plan) {
  RehearsalOptions how;
  how.training = plan.layers.training;
  how.batch = plan.batch;
  how.stop = interrupted;
  Progress progress(session, bench.speaks());
  how.progress = [&](const std::string& what, double share) { progress.show(what, share); };
  const Rehearsal rehearsal =
      rehearse(plan.work, plan.candidates, how, *bench.device, bench.between_devices());
  progress.clear();
  if (bench.speaks()) {
    for (const std::string& warning : rehearsal.warnings) hint(session, "warning: " + warning);
    print("\n" +
          rehearsal_text("text", session.style(), session, plan.work, how, rehearsal, bench.ranks->size()));
  }
  if (rehearsal.interrupted) return exit_interrupted;
  return all_right(rehearsal) ? answered : answered_no;
}

int run(const Session& session, Words& words) {
  words.options.complete();
  if (words.options.json() || !words.options.outputs().empty())
    throw UsageError("`all` prints text, and names decide where its files are",
                     "leave --json and -o out; its parts (layers, links, ...) have them");
  if (words.model.empty()) throw UsageError("which network?", "add --model resnet50");
  load_model(session.catalog, words.model);  // a name that is none is told before ranks are started
  const Bench bench = open_bench(words.backend, load_training(words.options.query(), session.catalog).precision,
                                 words.dry_run ? Absent::allowed : Absent::refused);
  const Plan plan = read_plan(session, words, bench);
  if (words.dry_run) {
    if (bench.speaks()) print(plan_text(plan, bench));
    return answered;
  }
  if (bench.speaks())
    for (const std::string& path : {plan.system.path, plan.layers.path}) demand_writable(path);
  note_interrupts();
  const int ranks = bench.ranks->size();
  const KeptPoints kept(plan.system.path, provenance_of(bench).tool);
  if (!write_system(session, bench, plan, kept)) return exit_interrupted;
  const LayerOutcome layers = run_layers(session, bench, plan.layers);
  if (bench.speaks()) {
    print(layer_summary(plan.layers, layers));
    warn_of(session, plan.layers, layers);
  }
  if (layers.interrupted) return exit_interrupted;
  int code = answered;
  if (ranks > 1) {
    const ContentionOutcome contention =
        run_contention(session, bench, 4, {.time = Seconds{15}}, &plan.work, plan.layers.batch,
                       KeptSamples(plan.system.path + ".samples", provenance_of(bench).tool));
    if (contention.interrupted) return exit_interrupted;
    if (bench.speaks()) print("\n" + contention_text(contention, session.style()));
    code = rehearse_all(session, bench, plan);
  }
  if (code == exit_interrupted) return code;
  if (bench.speaks()) kept.remove();
  if (bench.speaks())
    print(fmt::format("\nWrote {} and {}. Use them:\n  paradl advise {} --on {} -p {} -b {} --profile {}\n",
                      plan.system.path, plan.layers.path, words.model, plan.system.name, ranks, plan.batch,
                      plan.layers.name));
  return code;
}

}  // namespace

void define_all(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("all", "links, layers, contention and a rehearsal, in one go");
  command.text("NAME", words->name,
               {.help = "of this machine: systems/NAME.yaml and profiles/NAME-MODEL.yaml", .required = true});
  command.text("--model", words->model,
               {.help = "name in models/, a path, or gpt:layers=2,hidden=...", .meta = "MODEL"});
  command.text("--link-time", words->link_time, {.help = "for the links; default 30s", .meta = "TIME"});
  command.text("--backend", words->backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.flag("--dry-run", words->dry_run, {.help = "what would be measured, and about how long it takes"});
  words->rule.define(command);
  words->options.define_only(command, {"batch", "precision", "optimizer"}, "refused: names decide");
  command.footer(
      R"(Ctrl-C keeps the links, layers and contention that were measured, and the next run goes on from there.

Examples:
  paradl-calibrate all laptop --model tiny-cnn -b 16 --dry-run
  mpirun -np 2 paradl-calibrate all laptop --model tiny-cnn -b 16
  srun -n 8 paradl-calibrate all lab --model resnet50 -b 32/gpu --backend cuda)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
