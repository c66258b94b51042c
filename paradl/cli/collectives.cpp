// paradl collectives: what one collective costs, by which algorithm, on which network.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/command.hpp"
#include "paradl/cli/network_words.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/network/algorithm/nccl.hpp"
#include "paradl/network/schedule_file.hpp"
#include "paradl/report/collective_table.hpp"
#include "paradl/report/topology_picture.hpp"

namespace paradl {
namespace {

struct Words {
  std::string operation, schedule, sizes = "100MB", algorithms, fidelity, density, segments, draw;
  bool best = false;
  NetworkWords network;
  Options options;
};

NetworkFidelity read_fidelity(const std::string& word) {
  const auto found = std::ranges::find(network_fidelities, word);
  if (found == network_fidelities.end())
    throw UsageError(fmt::format("--fidelity {}: not known", word),
                     fmt::format("use {}", fmt::join(network_fidelities, ", ")));
  return NetworkFidelity(found - network_fidelities.begin());
}

Operation read_operation(const std::string& word) {
  if (const auto operation = find_operation(word)) return *operation;
  std::vector<std::string> known;
  for (const Operation o : operations()) known.emplace_back(text_of(o));
  const std::string near = did_you_mean(word, known);
  throw UsageError(fmt::format("`{}` is no collective", word),
                   near.empty() ? fmt::format("there are: {}", fmt::join(known, ", ")) : near);
}

/// `ring,hd`, `all`, or by default the two that everybody knows (and the one for nodes).
std::vector<const Algorithm*> read_algorithms(const Words& words, Operation operation, int per_node) {
  std::vector<const Algorithm*> out;
  if ((words.best && words.algorithms.empty()) || words.algorithms == "all" ||
      (words.algorithms.empty() && operation != Operation::allreduce)) {
    for (const Algorithm* a : algorithms())
      // NCCL's own times rest on its own tables, and sparse ones on a density: neither is in the same race.
      if (a->serves(operation) &&
          (words.algorithms == "all" || (!a->name.starts_with("sparse") && a->name != "auto")))
        out.push_back(a);
    return out;
  }
  const std::string names = !words.algorithms.empty() ? words.algorithms
                            : per_node > 1            ? "ring,tree,ring+ring"
                                                      : "ring,tree";
  for (const std::string& name : split_list(names, ',')) {
    const Algorithm* algorithm = find_algorithm(name);
    if (!algorithm) {
      std::vector<std::string> known;
      for (const Algorithm* a : algorithms()) known.emplace_back(a->name);
      const std::string near = did_you_mean(name, known);
      throw UsageError(fmt::format("no algorithm is called `{}`", name),
                       near.empty() ? fmt::format("there are: {}", fmt::join(known, ", ")) : near);
    }
    out.push_back(algorithm);
  }
  for (const Algorithm* a : out)
    if (a->name.starts_with("sparse") && words.density.empty())
      throw UsageError(fmt::format("--algorithm {}: how dense?", a->name), "add --density 0.01");
  if (out.empty()) throw UsageError("--algorithm names none", "write --algorithm ring,hd");
  return out;
}

/// "wire 5 -> 70": the one that paces a step, by the numbers of its ends.
std::string wire_text(const Topology& topology, const Timing& timing) {
  if (timing.wire < 0 || !(timing.phi > 1)) return "";
  const Wire& wire = topology.wires()[std::size_t(timing.wire)];
  const auto end = [&](int v) {
    return v < topology.hosts() ? fmt::format("host {}", v) : fmt::format("switch {}", v - topology.hosts());
  };
  return fmt::format("{} to {}", end(wire.from), end(wire.to));
}

CollectiveResult one(const Algorithm& algorithm, Job job, const Fabric& fabric, NetworkFidelity fidelity) {
  job.ranks = fabric.ranks();
  job.per_node = fabric.per_node;
  job.topology = fabric.topology.get();
  CollectiveResult out{.operation = std::string(text_of(job.operation)),
                       .algorithm = std::string(algorithm.name),
                       .topology = fabric.topology->text(),
                       .gpus = job.ranks,
                       .bytes = job.bytes,
                       .fidelity = fidelity};
  out.refused = refusal(algorithm, job);
  if (out.refused.empty() && fidelity != NetworkFidelity::closed_form && !is_small(algorithm, job, fidelity))
    out.refused = fmt::format("has too many messages at {} ranks to be followed; use --fidelity closed-form",
                              job.ranks);
  if (!out.refused.empty()) {
    out.refused = fmt::format("{}: {}", algorithm.name, out.refused);
    return out;
  }
  out.cost = time_of(algorithm, job, fabric, fidelity);
  out.bus_bandwidth = bus_bandwidth(job, out.cost.timing.time);
  out.wire = wire_text(*fabric.topology, out.cost.timing);
  if (algorithm.remark) out.remark = algorithm.remark(job);
  if (algorithm.name == "auto") {
    const NcclChoice choice = nccl_choice(job, ways_of(fabric));
    out.chosen = fmt::format("{}, {}", choice.algorithm, choice.protocol);
  }
  return out;
}

CollectiveResult run_schedule(const Schedule& schedule, const Fabric& fabric, NetworkFidelity fidelity) {
  const Timing load = link_load(schedule, *fabric.topology, fabric.seats);
  CollectiveResult out{.operation = "schedule",
                       .algorithm = "schedule",
                       .topology = fabric.topology->text(),
                       .gpus = schedule.ranks,
                       .bytes = schedule.largest_sent(),
                       .fidelity = fidelity};
  out.cost = {.timing = fidelity == NetworkFidelity::flows
                            ? simulate_flows(schedule, *fabric.topology, fabric.seats)
                            : load,
              .closed_form = load.time,
              .steps = schedule.length(),
              .joules = {}};
  out.cost.joules = joules_of(schedule, fabric, out.cost.timing.time);
  out.bus_bandwidth = out.cost.timing.time > Seconds{} ? out.bytes / out.cost.timing.time : Bandwidth{};
  out.wire = wire_text(*fabric.topology, out.cost.timing);
  return out;
}

void show(const Session& session, const Words& words, const std::vector<CollectiveResult>& results) {
  std::vector<std::string> names;
  for (const CollectiveResult& r : results)
    if (std::ranges::find(names, r.algorithm) == names.end()) names.push_back(r.algorithm);
  deliver(session, words.options, [&](const std::string& format, Style style) -> std::string {
    if (format == "json") return collective_json(words.best ? best_of(results) : results);
    if (format == "jsonl") return collective_jsonl(words.best ? best_of(results) : results);
    Table table = words.best                             ? best_collectives(results)
                  : format == "csv" || names.size() == 1 ? collective_table(results)
                                                         : collective_comparison(results);
    table = without_empty_columns(table, {"gpus", "time", "closed_form"});
    if (format != "text") return render_table(format, table);
    const Printed printed = to_text(table, style);
    hint(session, printed.hint);
    return fmt::format("{} on {}, {}\n\n{}", results.front().operation, results.front().topology,
                       network_fidelities[std::size_t(results.front().fidelity)], printed.text);
  });
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const bool from_file = words.operation == "run";
  if (from_file && words.schedule.empty())
    throw UsageError("which schedule?", "write paradl collectives run FILE --topology torus:8,8");
  if (!from_file && !words.schedule.empty())
    throw UsageError(fmt::format("`{}` is one word too many", words.schedule),
                     "`paradl collectives run FILE` runs a schedule");

  std::vector<CollectiveResult> results;
  std::shared_ptr<const Topology> drawn;
  if (from_file) {
    const Schedule schedule = read_schedule(read_source(words.schedule));
    const Fabric fabric = make_fabric(session.catalog, words.network, words.options, schedule.ranks);
    const NetworkFidelity fidelity = read_fidelity(words.fidelity.empty() ? "flows" : words.fidelity);
    if (fidelity == NetworkFidelity::closed_form)
      throw UsageError("a schedule from a file has no closed form", "use --fidelity link-load or flows");
    if (!words.algorithms.empty() || words.options.typed("gpus"))
      throw UsageError("a schedule says itself who sends what", "leave --algorithm and -p out");
    results.push_back(run_schedule(schedule, fabric, fidelity));
    drawn = fabric.topology;
  } else {
    const Operation operation = read_operation(words.operation);
    // The best is told by what the wires really carry: a closed form does not know routes.
    const NetworkFidelity fidelity = read_fidelity(!words.fidelity.empty() ? words.fidelity
                                                   : words.best            ? "link-load"
                                                                           : "closed-form");
    Job job{.operation = operation};
    if (!words.density.empty()) job.density = read_number("density", words.density, 1e-9, 1);
    if (!words.segments.empty()) job.segments = read_count("segments", words.segments, 1, 1'000'000);
    for (const int p : ranks_asked_for(session.catalog, words.network, words.options)) {
      const Fabric fabric = make_fabric(session.catalog, words.network, words.options, p);
      const auto chosen = read_algorithms(words, operation, fabric.per_node);
      for (const Bytes size : read_byte_sizes(words.sizes)) {
        job.bytes = size;
        for (const Algorithm* algorithm : chosen) results.push_back(one(*algorithm, job, fabric, fidelity));
      }
      if (chosen.size() == 1 && !results.back().refused.empty()) throw UsageError(results.back().refused);
      drawn = fabric.topology;
    }
  }
  if (!words.draw.empty()) write_file(words.draw, topology_svg(*drawn));
  show(session, words, results);
  return answered;
}

}  // namespace

void define_collectives(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("collectives", "cost of one collective: closed form, algorithms, simulation");
  command.text("OP", words->operation,
               {.help = "allreduce, reduce-scatter, allgather, broadcast, reduce, scatter, all-to-all, halo, "
                        "point-to-point; or `run`",
                .required = true});
  command.text("SCHEDULE", words->schedule, {.help = "with `run`: a file of steps and messages"});
  define_network(command, words->network);
  command.text("--size", words->sizes,
               {.help = "100MB; 1MB,32MiB; 1KB..1GB (doubling) or 1KB..1GB:x4", .meta = "RANGE"});
  command.text("--algorithm", words->algorithms,
               {.help = "ring,hd ...; `all`; default ring and tree; `paradl help collectives` lists them",
                .meta = "LIST"});
  command.text("--fidelity", words->fidelity, {.help = "closed-form, link-load or flows", .meta = "KIND"});
  command.flag("--best", words->best, {.help = "only the best algorithm for each number of GPUs and size"});
  command.text("--density", words->density,
               {.help = "share of values that are not zero, for sparse ones", .meta = "D"});
  command.text("--segments", words->segments,
               {.help = "of pipelined ones; default: as many as serve best", .meta = "S"});
  command.text("--draw", words->draw, {.help = "draw the topology there", .meta = "FILE.svg"});
  words->options.define_only(command, {"on", "gpus", "format"});
  command.footer(R"(Examples:
  paradl collectives allreduce --on abci -p 4..1024:x4 --size 100MB
  paradl collectives allreduce --topology dln:4,2 -p 64 --size 100MiB --algorithm ring,hd,shd --fidelity flows
  paradl collectives run ring.txt --topology torus:8,8)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl
