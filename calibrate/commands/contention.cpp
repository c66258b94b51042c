// paradl-calibrate contention: how much flows that share a link, and ranks that share a memory, slow each
// other down.
#include "calibrate/commands/contention.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/values.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/measure/kept.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl::calibrate {
namespace {

const StoppingRule work_rule{.warm_up = 1, .least = 6, .most = 60, .noise = 0.02, .time = Seconds{3}};

/// Memory bandwidth: reads and writes a buffer larger than the caches.
SharedWork copy_beside_others(const Bench& bench, Samples& kept) {
  Box box;
  box.end[4] = 4 << 20;
  Device& device = *bench.device;
  const Buffer a = device.allocate(box.items()), b = device.allocate(box.items());
  device.fill(b.get(), box.items(), 1);
  const auto copy = [&] {
    device.copy({a.get(), box}, {b.get(), box}, box, Combine::replace);
    device.synchronize();
  };
  const std::string name = fmt::format("copy of {}", decimal(Bytes{4.0 * double(box.items())}));
  return {name, measure_shared_memory(*bench.ranks, {name, copy, work_rule, interrupted}, kept)};
}

/// The heaviest layer of the network.
std::optional<SharedWork> layer_beside_others(const Bench& bench, const ContentionJob& job, Samples& kept) {
  const Workload& work = *job.work;
  const auto shapes = plan_shapes(work, {}, {}, job.batch);
  const Rates rates = nominal_rates(Backend::cpu);
  const auto heaviest =
      std::ranges::max_element(shapes, {}, [&](const auto& s) { return guessed_turn(s.layer, rates); });
  const auto timer = LayerTimer::make(*bench.device, heaviest->layer, Optimizer::momentum);
  if (!timer) return {};
  const std::string name = fmt::format("{} of {}, all passes", heaviest->name, work.name);
  return SharedWork{name, measure_shared_memory(
                              *bench.ranks, {name, [&] { timer->turn(); }, work_rule, interrupted}, kept)};
}

ContentionOutcome measure(const Bench& bench, const ContentionJob& job, Progress& progress, Samples& kept) {
  Communicator& ranks = bench.between_devices();
  ContentionOutcome out;
  const auto nodes = ranks.nodes();
  auto pairs = crossing_pairs(nodes);
  pairs.resize(std::min(pairs.size(), std::size_t(job.flows)));
  out.between_nodes = nodes[std::size_t(pairs.front().first)] != nodes[std::size_t(pairs.front().second)];
  if (pairs.size() > 1) {
    progress.show("flows", 0.1);
    ContentionOptions options = job.options;
    options.stop = interrupted;
    if (bench.links) options.allocate = [&](std::size_t items) { return bench.device->allocate(items); };
    out.flows = measure_contention(ranks, pairs, options, kept);
    out.interrupted = out.flows->interrupted;
  }
  if (std::ranges::count(nodes, 0) < 2 || out.interrupted) return out;
  progress.show("memory", 0.7);
  out.memory.push_back(copy_beside_others(bench, kept));
  out.interrupted = out.memory.back().slowdowns.empty();
  if (!job.work || out.interrupted) return out;
  if (auto layer = layer_beside_others(bench, job, kept)) {
    out.interrupted = layer->slowdowns.empty();
    out.memory.push_back(std::move(*layer));
  }
  return out;
}

std::string advice(const ContentionOutcome& outcome) {
  const SharingFit& fit = outcome.flows->fit;
  const Sharing& most = fit.phi.back();
  const double ports = most.flows / std::max(1.0, most.phi.value);
  if (!outcome.between_nodes)
    return fmt::format("All ranks are on one node: {} flows at once take {} times as long as one.\n",
                       most.flows, three_digits(most.phi.value));
  if (most.phi.value < 1.1)
    return fmt::format(
        "{} flows do not slow each other down: leave `ports` out of the level between nodes.\n", most.flows);
  return fmt::format(
      "In the system file: `ports: {}` at the level between nodes ({} flows take {} times as long: {} / "
      "{}).\n",
      three_digits(ports), most.flows, three_digits(most.phi.value), most.flows,
      three_digits(most.phi.value));
}

Table flows_table(const Contention& flows) {
  Table table{.columns = {{"flows", "flows", Holds::count, 9},
                          {"phi", "phi", Holds::text, 9},
                          {"interval", "±", Holds::text, 7},
                          {"fitted", "1 + slope (k - 1)", Holds::text, 6}}};
  for (const Sharing& s : flows.fit.phi)
    table.rows.push_back(
        {.values = {double(s.flows), fmt::format("{:.2f}", s.phi.value),
                    fmt::format("{:.2f}", s.phi.interval()), fmt::format("{:.2f}", flows.fit(s.flows))}});
  return table;
}

Table memory_table(const ContentionOutcome& outcome) {
  Table table{.columns = {{"work", "work next to others", Holds::text, 9},
                          {"active", "ranks", Holds::count, 9},
                          {"time", "time", Holds::seconds, 8},
                          {"noise", "noise", Holds::share, 5},
                          {"factor", "factor", Holds::text, 9}}};
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      table.rows.push_back({.values = {s.active == 1 ? work.name : "", double(s.active), s.time.median.base(),
                                       s.time.noise, fmt::format("{:.2f}", s.factor)}});
  return table;
}

/// Flows and memory in one table.
Table contention_table(const ContentionOutcome& outcome) {
  Table table{.columns = {{"of", "of", Holds::text, 9},
                          {"at_once", "at once", Holds::count, 9},
                          {"factor", "factor", Holds::text, 9},
                          {"interval", "±", Holds::text, 7},
                          {"time", "time", Holds::seconds, 6}}};
  if (outcome.flows)
    for (const Sharing& s : outcome.flows->fit.phi)
      table.rows.push_back(
          {.values = {outcome.between_nodes ? "flows between nodes" : "flows between ranks", double(s.flows),
                      fmt::format("{:.2f}", s.phi.value), fmt::format("{:.2f}", s.phi.interval()), Value{}}});
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      table.rows.push_back({.values = {work.name, double(s.active), fmt::format("{:.2f}", s.factor), Value{},
                                       s.time.median.base()}});
  return table;
}

nlohmann::ordered_json contention_json(const Session& session, const ContentionOutcome& outcome) {
  nlohmann::ordered_json out = json_header("paradl.contention/1", session.arguments, {});
  out["between"] = outcome.between_nodes ? "nodes" : "ranks";
  out["flows"] = nlohmann::ordered_json::array();
  if (outcome.flows) {
    const SharingFit& fit = outcome.flows->fit;
    out["alpha_s"] = fit.alpha.value;
    out["beta_s_per_byte"] = fit.beta.value;
    out["slope"] = fit.slope.value;
    out["mean_error"] = fit.mean_error;
    for (const Sharing& s : fit.phi)
      out["flows"].push_back({{"flows", s.flows}, {"phi", s.phi.value}, {"interval", s.phi.interval()}});
  }
  out["memory"] = nlohmann::ordered_json::array();
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      out["memory"].push_back({{"work", work.name},
                               {"active", s.active},
                               {"time_s", s.time.median.base()},
                               {"factor", s.factor}});
  return out;
}

struct Words {
  std::string flows = "4", most = "16MB", time = "30s", model;
  BenchWords bench;
  Options options;
};

ContentionJob read_job(const Session& session, const Words& words) {
  ContentionJob job{.kept_path = "contention.samples"};  // in this folder: the machine has no name
  job.flows = read_count("flows", words.flows, 1, 1 << 16);
  job.options.most = read_bytes("size", words.most);
  job.options.least = std::min(job.options.least, job.options.most);
  job.options.time = read_seconds("time", words.time);
  if (!words.model.empty()) {
    job.work = load_model(session.catalog, words.model).second;
    job.batch = layer_batch(words.options.query(), *job.work);
  } else if (words.options.typed("batch")) {
    throw UsageError("-b has no effect without a network", "add --memory MODEL");
  }
  return job;
}

std::string plan_text(const ContentionJob& job, const std::vector<int>& nodes) {
  const auto pairs = std::min(crossing_pairs(nodes).size(), std::size_t(job.flows));
  return fmt::format(
      "Would measure on {}, {} at most:\n{}  copies{} next to other ranks of the first node\n"
      "Would write nothing\n",
      ranks_text(nodes), text(job.options.time + Seconds{6}),
      pairs > 1 ? fmt::format("  1..{} flows of up to {}\n", pairs, decimal(job.options.most))
                : "  no flows: two flows need four ranks\n",
      job.work ? fmt::format(" and a layer of {}", job.work->name) : "");
}

int run(const Session& session, Words& words) {
  words.options.complete();
  check_delivery(words.options, {});
  const ContentionJob job = read_job(session, words);
  const Bench bench = open_bench(words.bench, Precision::fp32);
  if (bench.ranks->size() < 2)
    throw UsageError("contention needs at least two ranks, but there is one", "start it with mpirun -np 4");
  if (words.bench.dry_run) {
    if (bench.prints()) print(plan_text(job, bench.ranks->nodes()));
    return answered;
  }
  if (bench.prints()) demand_writable(job.kept_path);
  note_interrupts();
  const ContentionOutcome outcome = run_contention(session, bench, job);
  if (outcome.interrupted) return exit_interrupted;
  if (bench.prints())
    deliver(session, words.options,
            {.text = [&](const Style& style) { return contention_text(outcome, style); },
             .table = [&](ReadBy) { return contention_table(outcome); },
             .json = [&] { return contention_json(session, outcome); }});
  return answered;
}

}  // namespace

ContentionOutcome run_contention(const Session& session, const Bench& bench, const ContentionJob& job) {
  const Kept kept(job.kept_path, provenance_of(bench).tool);
  Progress progress(session, bench.prints());
  Samples samples = bench.prints() ? kept.samples() : Samples{};
  const ContentionOutcome out = measure(bench, job, progress, samples);
  progress.clear();
  if (!bench.prints()) return out;
  if (!out.interrupted) {
    kept.remove();
    return out;
  }
  kept.write(samples);
  hint(session, interrupted_text(kept.path()));
  return out;
}

std::string contention_text(const ContentionOutcome& outcome, Style style) {
  std::string out;
  if (outcome.flows) {
    const SharingFit& fit = outcome.flows->fit;
    out += fmt::format(
        "Flows {}: alpha = {}, 1/beta = {} alone; slope {:.2f} +- {:.2f}, {} off on average\n\n{}\n{}",
        outcome.between_nodes ? "between two nodes" : "between ranks of one node",
        text(Seconds{fit.alpha.value}), text(Bandwidth{1 / std::max(fit.beta.value, 1e-30)}), fit.slope.value,
        fit.slope.interval(), percent(fit.mean_error), to_text(flows_table(*outcome.flows), style).text,
        advice(outcome));
  } else {
    out += "Two flows need four ranks: no flows were measured.\n";
  }
  if (!outcome.memory.empty())
    out += fmt::format(
        "\n{}\nProfiles that were measured with as many ranks as will run include these factors.\n",
        to_text(memory_table(outcome), style).text);
  return out;
}

void define_contention(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command(
      "contention", "how much flows that share a link, and ranks that share a memory, slow each other down");
  command.text("-k,--flows", words->flows,
               {.help = "largest number of concurrent flows; default 4", .meta = "N"});
  command.text("--size", words->most, {.help = "largest message; default 16MB", .meta = "SIZE"});
  command.text("--time", words->time, {.help = "time for the flows; default 30s", .meta = "TIME"});
  command.text("--memory", words->model,
               {.help = "also time the heaviest layer of this network next to other ranks", .meta = "MODEL"});
  words->bench.define(command);
  words->options.define_only(command, {"batch", "format"});
  command.footer(
      R"(phi(k) is the slowdown of one flow next to k - 1 others. Between nodes k / phi(k) is the
number of `ports` to write at that level of the system file. Ctrl-C keeps the samples in contention.samples,
and the next run in this folder continues from there.

Examples:
  mpirun -np 4 paradl-calibrate contention
  mpirun -np 8 paradl-calibrate contention -k 4 --size 64MB --json
  mpirun -np 2 paradl-calibrate contention --memory tiny-cnn -b 8)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
