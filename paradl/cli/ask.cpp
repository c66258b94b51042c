#include "paradl/cli/ask.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/algorithm_words.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/cost/profiled_times.hpp"
#include "paradl/mesh/measured_cost.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

template <class Enum, std::size_t N>
Enum choose(const Options& options, const std::string& key, const std::string& fallback,
            const std::array<std::string_view, N>& names) {
  return options.read(key, fallback, [&](const std::string& word) {
    if (const auto found = find_name<Enum>(names, word)) return *found;
    const std::vector<std::string> known(names.begin(), names.end());
    const std::string near = did_you_mean(word, known);
    throw UsageError(fmt::format("--{} {}: not known", key, word),
                     near.empty() ? fmt::format("use {}", fmt::join(known, ", ")) : near);
  });
}

double number(const Options& options, const std::string& key, double least, double most) {
  return options.read(key, "", [&](const std::string& text) { return read_number(key, text, least, most); });
}

constexpr std::array<std::string_view, 2> on_off{"off", "on"};
constexpr std::array<std::string_view, 2> fidelities{"detailed", "paper"};
constexpr std::array<std::string_view, 2> iteration_rules{"exact", "ceil"};
constexpr std::array<std::string_view, 2> reductions{"allreduce", "reduce-scatter"};
constexpr std::array<std::string_view, 2> schedules{"gpipe", "1f1b"};
constexpr std::array<std::string_view, 2> batch_norms{"local", "sync"};
constexpr std::array<std::string_view, 2> grid_choices{"best", "all"};
constexpr std::array<std::string_view, 2> frameworks{"pytorch", "megatron"};

/// An algorithm that sums gradients, with the share of them that is not zero.
std::pair<const Algorithm*, double> read_allreduce(const std::string& text) {
  const auto [algorithm, density] = read_algorithm("allreduce", text, Operation::allreduce);
  if (!algorithm->serves(Operation::allreduce)) refuse(refusal(*algorithm, {}));
  return {algorithm, density};
}

/// `data=16,filter=4` says which axes there are, and in which order.
StrategyName strategy_of_grid(const std::string& grid) {
  if (grid.find('=') == grid.npos)
    throw UsageError(fmt::format("--grid {}: of which strategy?", grid),
                     "write data=16,filter=4, or add -s data+filter");
  std::string name;
  for (const std::string& item : split_list(grid, ','))
    name += (name.empty() ? "" : "+") + item.substr(0, item.find('='));
  return read_strategy(name);
}

/// A mini-batch has whole samples. (The model file's own, a share a GPU, is rounded up instead.)
void check_batch(const BatchRule& rule, const std::vector<int>& gpus, const Machine& machine,
                 const std::string& text) {
  for (const int p : gpus)
    if (const double batch = rule.samples(p, machine); batch != std::floor(batch))
      throw UsageError(
          fmt::format("a mini-batch of {} is {} samples on {} GPU{}", text, batch, p, p == 1 ? "" : "s"),
          "choose one that gives whole samples, or write the whole mini-batch: -b 32");
}

Question read_question(const Options& options, const Ask& ask, bool needs_gpus) {
  Question q;
  q.named = options.has("strategy") || options.has("grid");
  if (options.has("strategy")) {
    for (const std::string& name : split_list(options.get("strategy"), ','))
      q.strategies.push_back(read_strategy(name));
    if (q.strategies.empty()) throw UsageError("--strategy names none", "write -s data,data+filter");
  } else if (options.has("grid")) {
    q.strategies = {strategy_of_grid(options.get("grid"))};
  } else {
    q.strategies = default_strategies();
    if (ask.fidelity == Fidelity::paper)
      std::erase_if(q.strategies, [](const StrategyName& s) { return !paper::find_row(s.text); });
  }
  if (options.has("grid")) {
    if (q.strategies.size() != 1)
      throw UsageError(fmt::format("--grid {} is for one strategy, and -s names {}", options.get("grid"),
                                   q.strategies.size()),
                       "leave one of them out");
    q.grid = read_grid(options.get("grid"), q.strategies.front());
    for (const Parts& parts : *q.grid)
      for (std::size_t d = std::size_t(ask.work.input.dims); d < 3; ++d)
        if (parts.cut[d] > 1)
          throw UsageError(
              fmt::format("--grid {}: samples of {} have {} extent{} to cut", options.get("grid"),
                          ask.work.name, ask.work.input.dims, ask.work.input.dims == 1 ? "" : "s"),
              ask.work.input.dims == 1 ? "write spatial=4" : "write spatial=2x2");
    double size = 1;
    for (const Parts& parts : *q.grid) size *= parts.total;
    if (size > ask.machine.gpus())
      throw UsageError(fmt::format("{} has {} GPUs, and the grid {} wants {}", ask.machine.name,
                                   ask.machine.gpus(), options.get("grid"), size),
                       "choose smaller sizes, or a larger system");
    q.gpus =
        options.has("gpus")
            ? options.read("gpus", "", [&](const std::string& text) { return read_gpus(text, ask.machine); })
            : std::vector{int(size)};
    if (q.gpus != std::vector{int(size)})
      throw UsageError(fmt::format("the grid {} has {} GPUs, but -p says {}", options.get("grid"), size,
                                   options.get("gpus")),
                       fmt::format("leave -p out, or write -p {}", size));
  } else if (options.has("gpus")) {
    q.gpus = options.read("gpus", "", [&](const std::string& text) { return read_gpus(text, ask.machine); });
  } else if (needs_gpus) {
    throw UsageError("how many GPUs?", "add -p 64, or a range such as -p 16..1024");
  }
  for (const StrategyName& s : q.strategies)
    if (q.named && s.axes.empty() && std::ranges::any_of(q.gpus, [](int p) { return p > 1; }))
      throw UsageError("`serial` runs on one GPU", "use -p 1, or leave serial out");
  q.batch = options.has("batch") ? options.read("batch", "", read_batch)
                                 : BatchRule{.per = BatchRule::Per::gpu, .value = ask.work.batch};
  if (options.has("batch")) check_batch(q.batch, q.gpus, ask.machine, options.get("batch"));
  q.grids = choose<Grids>(options, "grids", "best", grid_choices);
  return q;
}

}  // namespace

void check_profile(const ProfileSpec& profile, const Training& training) {
  const auto differ = [&](const char* option, std::string_view measured, std::string_view asked) {
    if (measured != asked)
      throw UsageError(
          fmt::format("the profile `{}` was measured with {}, not {}", profile.name, measured, asked),
          fmt::format("add --{} {}", option, measured));
  };
  differ("precision", precision_names[std::size_t(profile.precision)],
         precision_names[std::size_t(training.precision)]);
  differ("optimizer", optimizer_names[std::size_t(profile.optimizer)],
         optimizer_names[std::size_t(training.optimizer)]);
}

std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine) {
  try {
    return topology_of(machine);
  } catch (const UsageError& error) {
    if (spec.topology_spot.line == 0) throw;  // --set gave it
    throw SpecError(spec.source.file, spec.source.text, {{spec.topology_spot, error.what(), error.help()}});
  }
}

std::vector<Override> read_overrides(const std::vector<std::string>& sets) {
  std::vector<Override> out;
  for (const std::string& item : sets) {
    const std::size_t equals = item.find('=');
    if (equals == item.npos || equals == 0 || equals + 1 == item.size())
      throw UsageError(fmt::format("--set {}: not KEY=VALUE", item), "write --set device.memory=32GiB");
    out.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  return out;
}

Training read_training(const Options& options) {
  Training t;
  // Megatron-LM trains transformers in 16 bits with Adam; everything else starts from fp32 and momentum.
  const bool megatron = choose<int>(options, "framework", "pytorch", frameworks) == 1;
  t.precision = choose<Precision>(options, "precision", megatron ? "fp16" : "fp32", precision_names);
  t.optimizer = choose<Optimizer>(options, "optimizer", megatron ? "adam" : "momentum", optimizer_names);
  t.micro_batches = options.read("micro-batches", "1", [](const std::string& text) {
    return read_count("micro-batches", text, 1, 1'000'000);
  });
  t.schedule = choose<PipelineSchedule>(options, "schedule", "gpipe", schedules);
  t.overlap = choose<int>(options, "overlap", "on", on_off) == 1;
  t.reduction = choose<Reduction>(options, "reduction", "allreduce", reductions);
  t.synchronised_batch_norm = choose<int>(options, "batch-norm", "local", batch_norms) == 1;
  t.ceil_iterations = choose<int>(options, "iterations", "exact", iteration_rules) == 1;
  if (options.has("allreduce"))
    options.read("allreduce", "", [&](const std::string& text) {
      std::tie(t.allreduce, t.density) = read_allreduce(text);
      return 0;
    });
  if (options.has("gamma")) t.gamma = number(options, "gamma", 1e-3, 1e3);
  return t;
}

Projection Ask::project(const StrategyName& strategy, const Mesh& mesh, double batch) const {
  return fidelity == Fidelity::paper ? paper::project(setting(), strategy, mesh, batch)
                                     : planner->project(strategy, mesh, batch);
}

std::vector<Projection> Ask::sweep() const {
  auto results = paradl::sweep(
      question, work, machine,
      [this](const StrategyName& s, const Mesh& m, double batch) { return project(s, m, batch); });
  for (Projection& p : results) add_band(p);
  return results;
}

void Ask::add_band(Projection& p) const {
  if (slowed.empty() || !p.cost) return;
  const auto iteration = [&](const Slowed& other) {
    const Setting there{work, other.machine, times, training, other.topology.get()};
    return (fidelity == Fidelity::paper ? paper::project(there, *p.strategy, p.mesh, p.batch)
                                        : other.planner->project(*p.strategy, p.mesh, p.batch))
        .iteration();
  };
  p.congested = {iteration(*slowed[0]), iteration(*slowed[1]), iteration(*slowed[2])};
}

std::string Ask::links_text() const {
  return (has_measured_links(machine) ? "measured, in " : "specifications in ") +
         std::filesystem::path(system_spec.source.file).filename().string() +
         (overridden ? " with --set" : "");
}

std::unique_ptr<Ask> read_ask(const Catalog& catalog, const Options& options, const std::string& model,
                              const std::string& system, bool needs_gpus) {
  auto ask = std::make_unique<Ask>();
  std::tie(ask->model_spec, ask->work) = load_model(catalog, model);
  if (system.empty())
    throw UsageError("which system?",
                     fmt::format("add `--on abci`, or set PARADL_SYSTEM; `paradl systems` lists all {}",
                                 catalog.names("systems").size()));
  ask->system_spec = catalog.system(system, read_overrides(options.sets()));
  ask->overridden = !options.sets().empty();
  ask->machine = build_machine(ask->system_spec);
  ask->fidelity = choose<Fidelity>(options, "fidelity", "detailed", fidelities);
  ask->training = read_training(options);
  if (options.has("samples")) ask->work.D = number(options, "samples", 1, 1e15);
  if (!(ask->work.D > 0))
    throw UsageError(fmt::format("{} names no data set, so an epoch has no length", ask->work.name),
                     "add --samples N");
  if (options.has("epochs")) ask->epochs = number(options, "epochs", 1e-6, 1e9);
  ask->default_batch = !options.has("batch");
  ask->topology = network_of(ask->system_spec, ask->machine);
  if (ask->training.allreduce && ask->fidelity == Fidelity::paper)
    throw UsageError("the paper's closed forms have their own allreduce, a ring",
                     "leave --allreduce out, or --fidelity paper");
  if (ask->training.allreduce && ask->training.allreduce->name == "multitree" && !ask->topology)
    refuse("multitree: " + refusal(*ask->training.allreduce, {.ranks = 2}));
  ask->times = layer_times(ask->work, ask->machine, ask->training.precision, ask->training.optimizer);
  if (options.has("profile")) {
    ask->profile_spec = read_profile(catalog.find("profiles", options.get("profile")));
    check_profile(*ask->profile_spec, ask->training);
    ask->times = profiled_times(std::move(ask->times), ask->work,
                                std::make_shared<Profile>(*ask->profile_spec), std::ceil(ask->work.batch));
  }
  ask->question = read_question(options, *ask, needs_gpus);
  ask->planner = std::make_unique<Planner>(ask->setting());
  if (const auto& congestion = ask->machine.congestion)
    for (const double factor : {congestion->low, congestion->typical, congestion->high}) {
      auto other = std::make_unique<Ask::Slowed>();
      other->machine = congested(ask->machine, factor);
      other->topology = topology_of(other->machine);
      other->planner = std::make_unique<Planner>(
          Setting{ask->work, other->machine, ask->times, ask->training, other->topology.get()});
      ask->slowed.push_back(std::move(other));
    }
  return ask;
}

}  // namespace paradl
