// paradl collectives: the time of one collective, by algorithm, on a network.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/basis.hpp"
#include "paradl/cli/command.hpp"
#include "paradl/cli/network_words.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/network/algorithm/nccl.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/network/schedule_file.hpp"
#include "paradl/query/algorithm_words.hpp"
#include "paradl/report/collective_table.hpp"
#include "paradl/report/topology_picture.hpp"

namespace paradl {
namespace {

struct Words {
  std::string operation, schedule, sizes, algorithms, fidelity, density, top_k, segments, draw;
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
  throw UsageError(fmt::format("`{}` is not a collective", word),
                   near.empty() ? fmt::format("use one of: {}", fmt::join(known, ", ")) : near);
}

/// Whether it cuts its buffer into segments: pipelines do, and NCCL may choose one.
bool uses_segments(const Algorithm& algorithm, Operation operation) {
  return algorithm.tabulated || algorithm.pipelines(operation);
}

/// Seconds per byte to select the largest values of a buffer: from --top-k, or from the memory bandwidth of
/// the system. Zero: not counted.
SecondsPerByte read_selection(const Words& words, const Network& network) {
  const auto rate =
      words.top_k.empty() ? network.memory_bandwidth() : std::optional(read_rate("top-k", words.top_k));
  return rate ? 1.0 / *rate : SecondsPerByte{};
}

/// `ring,hd`, `all`, or by default the two best known ones (and the one for nodes).
std::vector<AlgorithmWord> read_algorithms(const Words& words, Operation operation, int per_node) {
  std::optional<double> density;
  if (!words.density.empty()) density = read_number("density", words.density, least_density, 1);
  std::vector<AlgorithmWord> out;
  const auto add = [&](const AlgorithmWord& word) {
    if (std::ranges::find(out, word.algorithm, &AlgorithmWord::algorithm) == out.end()) out.push_back(word);
  };
  const bool race = words.algorithms.empty() && (words.best || operation != Operation::allreduce);
  if (race || words.algorithms == "all") {
    for (const Algorithm* a : algorithms())
      // NCCL's times come from its own tables, and sparse algorithms need a density: neither can be compared
      // with the
      // others.
      if (a->serves(operation) && (!a->sparse || (density && !race)) && (!a->tabulated || !race))
        add({a, a->sparse ? *density : 1});
  } else {
    const std::string names = !words.algorithms.empty() ? words.algorithms
                              : per_node > 1            ? "ring,tree,ring+ring"
                                                        : "ring,tree";
    for (const std::string& name : split_list(names, ',')) {
      if (name == "all")
        throw UsageError(fmt::format("--algorithm {}: `all` cannot be combined with names", words.algorithms),
                         "write --algorithm all, or only names");
      add(read_algorithm("algorithm", name, operation, density));
    }
  }
  if (out.empty()) throw UsageError("--algorithm is empty", "write --algorithm ring,hd");
  if (density && std::ranges::none_of(out, [](const AlgorithmWord& w) { return w.algorithm->sparse; }))
    throw UsageError(fmt::format("--density {}: only sparse algorithms have a density", words.density),
                     operation == Operation::allreduce
                         ? "add --algorithm sparse-ring, or leave it out"
                         : "leave it out: there are no sparse algorithms for this collective");
  if (!words.top_k.empty() &&
      std::ranges::none_of(out, [](const AlgorithmWord& w) { return w.algorithm->sparse; }))
    throw UsageError(fmt::format("--top-k {}: only sparse algorithms select the largest values", words.top_k),
                     "leave it out");
  if (!words.segments.empty() && std::ranges::none_of(out, [&](const AlgorithmWord& w) {
        return uses_segments(*w.algorithm, operation);
      }))
    throw UsageError(fmt::format("--segments {}: only pipelined algorithms have segments", words.segments),
                     operation == Operation::allreduce ? "add --algorithm tree-pipelined, or leave it out"
                                                       : "leave it out");
  return out;
}

/// "host 5 to switch 6": the busiest wire of a step, by its ends.
std::string wire_text(const Topology& topology, const Timing& timing) {
  if (timing.wire < 0 || !(timing.phi > 1)) return "";
  const Wire& wire = topology.wires()[std::size_t(timing.wire)];
  const auto end = [&](int v) {
    return v < topology.hosts() ? fmt::format("host {}", v) : fmt::format("switch {}", v - topology.hosts());
  };
  return fmt::format("{} to {}", end(wire.from), end(wire.to));
}

/// A warning if a closed form, which ignores routes, is far from the truth. If the schedule is small, this is
/// known from its link loads; otherwise it is only a suspicion.
std::string closed_form_remark(const Algorithm& algorithm, const CollectiveResult& r, const Fabric& fabric) {
  // NCCL's tables are not a formula for these wires.
  if (r.fidelity != NetworkFidelity::closed_form || algorithm.tabulated) return "";
  if (r.cost.link_load) {
    constexpr double much = 1.1;
    // Both use specifications, because wires were not measured.
    const Seconds formula = r.cost.specified.value_or(*r.cost.closed_form);
    const double ratio = formula > Seconds{} ? *r.cost.link_load / formula : 1;
    if (ratio < much && ratio * much > 1) return "";
    return fmt::format("because of its routes it is {} than its formula says; use --fidelity link-load",
                       ratio > 1 ? "slower" : "faster");
  }
  if (fabric.topology->switches() == 1 && !fabric.topology->half_duplex()) return "";  // no shared wire
  const bool in_order = std::ranges::is_sorted(fabric.seats) && fabric.seats.back() + 1 == fabric.ranks();
  return fmt::format(
      "it has too many messages to route, and its formula ignores routes{}: it may be several times slower; "
      "check fewer GPUs with --fidelity link-load",
      fabric.topology->half_duplex() ? " (here both directions share a cable)"
      : in_order                     ? ""
                                     : " (here ranks are not placed in order)");
}

/// The time next to other jobs, at the same fidelity; nothing if the system has no `congestion`.
template <class Price>
std::optional<Projection::Band> band_of(const Fabric& fabric, const std::vector<Fabric>& slowed,
                                        Seconds alone, Price price) {
  if (slowed.empty()) return {};
  const auto time = [&](const Fabric& other) {
    return other.topology == fabric.topology ? alone : price(other);
  };
  return Projection::Band{time(slowed[0]), time(slowed[1]), time(slowed[2])};
}

/// The operations whose measurements replace those of an operation, on the levels that these ranks span:
/// "allreduce".
std::string stand_in(Operation operation, const Machine& machine, int ranks) {
  const auto asked = measured_as(operation);
  std::vector<std::string_view> out;
  for (const Level& level : machine.levels) {
    const auto taken = asked && level.inside < ranks ? taken_from(level, *asked) : std::nullopt;
    if (!taken || taken == asked) continue;
    const std::string_view name = collective_names[std::size_t(*taken)];
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

CollectiveResult one(const Algorithm& algorithm, Job job, const Fabric& fabric,
                     const std::vector<Fabric>& slowed, NetworkFidelity fidelity) {
  job.ranks = fabric.ranks();
  job.per_node = fabric.per_node;
  job.topology = fabric.topology.get();
  job.seats = fabric.seats;
  CollectiveResult out{.operation = job.operation,
                       .algorithm = &algorithm,
                       .topology = fabric.topology->text(),
                       .gpus = job.ranks,
                       .bytes = job.bytes,
                       .fidelity = fidelity};
  out.refused = refusal(algorithm, job);
  out.too_large =
      out.refused.empty() && fidelity != NetworkFidelity::closed_form && !is_small(algorithm, job, fidelity);
  if (out.too_large)
    out.refused =
        fmt::format("has too many messages to route at {} ranks; use --fidelity closed-form", job.ranks);
  if (!out.refused.empty()) {
    if (!out.refused.starts_with('`')) out.refused = fmt::format("{}: {}", algorithm.name, out.refused);
    return out;
  }
  out.cost = time_of(algorithm, job, fabric, fidelity);
  out.bus_bandwidth = bus_bandwidth(job, out.cost.timing.time);
  if (out.measured_links()) out.stands_in = stand_in(job.operation, *fabric.measured, job.ranks);
  out.congested = band_of(fabric, slowed, out.cost.timing.time, [&](const Fabric& other) {
    Job there = job;
    there.topology = other.topology.get();
    return time_of(algorithm, there, other, fidelity).timing.time;
  });
  out.wire = wire_text(*fabric.topology, out.cost.timing);
  if (algorithm.remark) out.remark = algorithm.remark(job, out.cost.steps);
  if (const std::string routes = closed_form_remark(algorithm, out, fabric); !routes.empty())
    out.remark += (out.remark.empty() ? "" : "; ") + routes;
  if (algorithm.tabulated) out.chosen = text_of(nccl_choice(job, ways_of(fabric)));
  return out;
}

/// Each answer takes the simulation of a schedule, and nobody reads that many.
void refuse_too_many(std::size_t ranks, std::size_t sizes, std::size_t chosen) {
  constexpr std::size_t most = 10'000;
  if (ranks * sizes * chosen > most)
    throw UsageError(fmt::format("{} numbers of GPUs, {} sizes and {} algorithms are {} answers; {} are the "
                                 "most",
                                 ranks, sizes, chosen, ranks * sizes * chosen, most),
                     "take larger steps: -p 4..1024:x4, --size 1KB..1GB:x16");
}

void refuse_beside_schedule(const Words& words) {
  const auto refuse_typed = [](bool typed, const char* option) {
    if (typed)
      throw UsageError(fmt::format("{} has no effect here: the schedule file lists all messages", option),
                       "leave it out");
  };
  refuse_typed(!words.algorithms.empty(), "--algorithm");
  refuse_typed(!words.sizes.empty(), "--size");
  refuse_typed(!words.density.empty(), "--density");
  refuse_typed(!words.top_k.empty(), "--top-k");
  refuse_typed(!words.segments.empty(), "--segments");
  refuse_typed(words.best, "--best");
  refuse_typed(words.options.typed("gpus"), "-p");
}

CollectiveResult run_schedule(const Schedule& schedule, const Fabric& fabric,
                              const std::vector<Fabric>& slowed, NetworkFidelity fidelity) {
  const Timing load = timing_of(schedule, fabric, NetworkFidelity::link_load);
  CollectiveResult out{.operation = {},
                       .topology = fabric.topology->text(),
                       .gpus = schedule.ranks,
                       .bytes = schedule.largest_sent(),
                       .fidelity = fidelity};
  out.cost = {.timing = fidelity == NetworkFidelity::flows ? timing_of(schedule, fabric, fidelity) : load,
              .link_load = load.time,
              .steps = schedule.length(),
              .joules = {}};
  out.congested = band_of(fabric, slowed, out.cost.timing.time,
                          [&](const Fabric& other) { return timing_of(schedule, other, fidelity).time; });
  out.cost.joules = joules_of(schedule, fabric, out.cost.timing.time);
  out.bus_bandwidth = out.cost.timing.time > Seconds{} ? out.bytes / out.cost.timing.time : Bandwidth{};
  out.wire = wire_text(*fabric.topology, out.cost.timing);
  return out;
}

/// The machine with only the measurements that this operation uses.
Machine as_measured_for(Operation operation, Machine machine) {
  const auto asked = measured_as(operation);
  for (Level& level : machine.levels)
    if (!asked || !taken_from(level, *asked)) level.measured.clear();
  return machine;
}

/// The links that closed forms used, and the algorithms that did not use measured ones.
std::string links_line(const std::vector<CollectiveResult>& results, const Network& network) {
  std::vector<std::string_view> not_measured;
  bool any = false;
  for (const CollectiveResult& r : results) {
    if (!r.refused.empty() || r.gpus == 1) continue;
    any |= r.measured_links();
    if (!r.measured_links() && std::ranges::find(not_measured, r.algorithm->name) == not_measured.end())
      not_measured.push_back(r.algorithm->name);
  }
  const std::string file = file_name(network.inputs().front().source);
  if (!any) return fmt::format("\nLinks: specifications in {}.\n", file);
  const std::string besides =
      not_measured.empty() ? "" : fmt::format("; specifications for {}", fmt::join(not_measured, ", "));
  std::string stands_in;
  bool ring = false, others = false;
  int most = 1;
  for (const CollectiveResult& r : results) {
    if (!r.stands_in.empty())
      stands_in =
          fmt::format("; {} was not measured, so {} is used instead", r.operation_text(), r.stands_in);
    (r.algorithm->fitted ? ring : others) |= r.measured_links();
    most = std::max(most, r.gpus);
  }
  const Machine machine = as_measured_for(*results.front().operation, *network.machine());
  ring &= std::ranges::all_of(
      machine.levels, [&](const Level& level) { return level.inside >= most || !level.measured.empty(); });
  return fmt::format("\nLinks: {} {}{}{}.{}\n", links_text(machine), file, stands_in, besides,
                     ring && others ? " Measured times are those of `ring`, whatever the library ran; times "
                                      "of other algorithms follow from them."
                                    : "");
}

void show(const Session& session, const Words& words, const std::vector<InputFile>& inputs,
          const std::vector<CollectiveResult>& results, const Topology& topology, const std::string& links) {
  std::vector<std::string> names;
  for (const CollectiveResult& r : results)
    if (std::ranges::find(names, r.algorithm_text()) == names.end()) names.push_back(r.algorithm_text());
  const auto table = [&](ReadBy reader) {
    Table out = words.best                                           ? best_collectives(results)
                : reader == ReadBy::machines || names.size() == 1 ? collective_table(results)
                                                                    : collective_comparison(results);
    std::vector<std::string_view> keep{"gpus", "time"};  // even if they are zero
    if (results.front().operation) keep.emplace_back("closed_form");
    keep.insert(keep.end(), names.begin(), names.end());
    return without_empty_columns(std::move(out), keep);
  };
  const auto text = [&](const Style& style) {
    const Printed printed = to_text(table(ReadBy::people), style);
    hint(session, printed.hint);
    return fmt::format("{} on {}, {}\n\n{}{}", results.front().operation_text(), results.front().topology,
                       network_fidelities[std::size_t(results.front().fidelity)], printed.text, links);
  };
  const auto json = [&] {
    return collective_json(session.arguments, inputs, words.best ? best_of(results) : results);
  };
  AnswerFiles files{.read = files_of(inputs)};
  if (!words.draw.empty()) files.more.push_back({words.draw, topology_svg(topology)});
  deliver(session, words.options, {.text = text, .table = table, .json = json}, files);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const bool from_file = words.operation == "run";
  if (from_file && words.schedule.empty())
    throw UsageError("which schedule?", "write paradl collectives run FILE --topology torus:8,8");
  if (!from_file && !words.schedule.empty())
    throw UsageError(fmt::format("unexpected argument `{}`", words.schedule),
                     "`paradl collectives run FILE` runs a schedule");

  const Operation operation = from_file ? Operation::allreduce : read_operation(words.operation);
  demand_svg(words.draw);

  std::vector<CollectiveResult> results;
  std::shared_ptr<const Topology> drawn;
  const Network network(session.catalog, words.network, words.options);
  std::vector<InputFile> inputs = network.inputs();
  if (from_file) {
    refuse_beside_schedule(words);
    const SourceText source = read_source(words.schedule);
    const Schedule schedule = read_schedule(source);
    inputs.push_back({"schedule", file_name(source), source});
    if (words.options.typed("links"))
      throw UsageError("--links has no effect here: a schedule is routed along specified wires",
                       "leave it out");
    const Fabric fabric = network.fabric(schedule.ranks, schedule.ranks);
    const NetworkFidelity fidelity = read_fidelity(words.fidelity.empty() ? "flows" : words.fidelity);
    if (fidelity == NetworkFidelity::closed_form)
      throw UsageError("a schedule from a file has no closed form", "use --fidelity link-load or flows");
    results.push_back(run_schedule(schedule, fabric, network.slowed(fabric), fidelity));
    drawn = fabric.topology;
  } else {
    // The best one is chosen by link loads, because a closed form ignores routes.
    const NetworkFidelity fidelity = read_fidelity(!words.fidelity.empty() ? words.fidelity
                                                   : words.best            ? "link-load"
                                                                           : "closed-form");
    if (fidelity != NetworkFidelity::closed_form && words.options.typed("links") &&
        network.uses_measured_links())
      throw UsageError("--links measured: link-load and flows use single wires, which were not measured",
                       "use --fidelity closed-form");
    Job job{.operation = operation};
    job.selection = read_selection(words, network);
    if (!words.segments.empty()) job.segments = read_count("segments", words.segments, 1, 1'000'000);
    const std::vector<int> ranks = network.ranks_asked_for(words.options);
    const std::vector<Bytes> sizes = read_byte_sizes(words.sizes.empty() ? "100MB" : words.sizes);
    refuse_too_many(ranks.size(), sizes.size(), read_algorithms(words, operation, 1).size());
    for (const int p : ranks) {
      Fabric fabric = network.fabric(p, std::ranges::max(ranks));
      if (fidelity != NetworkFidelity::closed_form) fabric.measured.reset();
      const std::vector<Fabric> slowed = network.slowed(fabric);
      const auto chosen = read_algorithms(words, operation, fabric.per_node);
      for (const Bytes size : sizes) {
        job.bytes = size;
        for (const auto& [algorithm, density] : chosen) {
          job.density = density;
          results.push_back(one(*algorithm, job, fabric, slowed, fidelity));
        }
      }
      if (chosen.size() == 1 && !results.back().refused.empty()) refuse(results.back().refused);
      drawn = fabric.topology;
    }
  }
  const bool of_system = network.machine() && results.front().fidelity == NetworkFidelity::closed_form;
  show(session, words, inputs, results, *drawn, of_system ? links_line(results, network) : "");
  return answered;
}

}  // namespace

void define_collectives(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("collectives", "time of one collective: closed form, algorithms, simulation");
  command.text("OP", words->operation,
               {.help = "allreduce, reduce-scatter, allgather, broadcast, reduce, scatter, all-to-all, halo, "
                        "point-to-point; or `run`",
                .required = true});
  command.text("SCHEDULE", words->schedule, {.help = "with `run`: a file of steps and messages"});
  define_network(command, words->network);
  command.text(
      "--size", words->sizes,
      {.help = "100MB (the default); 1MB,32MiB; 1KB..1GB (doubling) or 1KB..1GB:x4", .meta = "RANGE"});
  command.text("--algorithm", words->algorithms,
               {.help = "ring,hd ...; `all`; default ring and tree; `paradl help collectives` lists them",
                .meta = "LIST"});
  command.text(
      "--fidelity", words->fidelity,
      {.help = "closed-form (the default), link-load (default of --best) or flows (default of `run`)",
       .meta = "KIND"});
  command.flag("--best", words->best, {.help = "only the best algorithm for each number of GPUs and size"});
  command.text("--density", words->density,
               {.help = "share of values that are not zero, for sparse algorithms", .meta = "D"});
  command.text("--top-k", words->top_k,
               {.help = "rate at which sparse algorithms select the largest values of a buffer; default: the "
                        "system's memory bandwidth; not counted without a system",
                .meta = "RATE"});
  command.text("--segments", words->segments,
               {.help = "segments of pipelined algorithms; default: the fastest number", .meta = "S"});
  command.text("--draw", words->draw, {.help = "draw the topology to this file", .meta = "FILE.svg"});
  words->options.define_only(command, {"on", "gpus", "links", "format"});
  command.footer(R"(Examples:
  paradl collectives allreduce --on abci -p 4..1024:x4 --size 100MB
  paradl collectives allreduce --topology dln:4,2 -p 64 --size 100MiB --algorithm ring,hd,shd --fidelity flows
  printf '2 1\n0 1 0 1 1000000\n' | paradl collectives run - --topology torus:8,8)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl
