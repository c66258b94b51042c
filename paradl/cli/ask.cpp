#include "paradl/cli/ask.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/algorithm_words.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/units.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/profiled_times.hpp"
#include "paradl/feasibility/advice.hpp"
#include "paradl/machine/kernel_error.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/spec/measured_under.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/strategy/recomputed.hpp"

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
static_assert(names_every(Fidelity::paper, fidelities), "name every Fidelity");
constexpr std::array<std::string_view, 2> iteration_rules{"exact", "ceil"};
constexpr std::array<std::string_view, 2> batch_norms{"local", "sync"};
constexpr std::array<std::string_view, 2> gradient_precisions{"fp32", "fp16"};
constexpr std::array<std::string_view, 2> grid_choices{"best", "all"};
static_assert(names_every(Grids::all, grid_choices), "name all Grids");
constexpr std::array<std::string_view, 2> link_levels{"ideal", "measured"};

/// `gpipe`, `1f1b` or `interleaved:2`: the order of passes, and the chunks of a stage.
std::pair<PipelineSchedule, int> read_schedule(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string word = text.substr(0, colon);
  const auto found = find_name<PipelineSchedule>(schedule_names, word);
  if (!found) {
    const std::string near = did_you_mean(word, {schedule_names.begin(), schedule_names.end()});
    throw UsageError(fmt::format("--schedule {}: not known", text),
                     near.empty() ? "use gpipe, 1f1b or interleaved:2" : near);
  }
  if (*found != PipelineSchedule::interleaved) {
    if (colon != text.npos)
      throw UsageError(fmt::format("--schedule {}: {} has no pieces to count", text, word),
                       fmt::format("write {}, or interleaved{}", word, text.substr(colon)));
    return {*found, 1};
  }
  if (colon == text.npos)
    throw UsageError("--schedule interleaved: how many pieces on each stage?", "write interleaved:2");
  const std::string count = text.substr(colon + 1);
  const bool digits =
      !count.empty() && count.size() < 4 && count.find_first_not_of("0123456789") == count.npos;
  const int chunks = digits ? std::stoi(count) : 0;
  if (chunks < 1)
    throw UsageError(fmt::format("--schedule {}: `{}` is no number of pieces from 1 to 999", text, count),
                     "write interleaved:2");
  return {chunks > 1 ? *found : PipelineSchedule::one_forward_one_backward, chunks};
}

/// `full`, `full:24`: 24 blocks.
std::pair<Recompute, int> read_recompute(const std::string& text) {
  const std::string word = text.substr(0, text.find(':'));
  const auto kind = find_name<Recompute>(recompute_names, word);
  if (!kind)
    throw UsageError(fmt::format("--recompute {}: not known", text),
                     fmt::format("use {}, or full:24 for 24 blocks", fmt::join(recompute_names, ", ")));
  if (word == text) return {*kind, -1};
  if (*kind == Recompute::none)
    throw UsageError(fmt::format("--recompute {}: none has no blocks to count", text),
                     fmt::format("write none, or full{}", text.substr(word.size())));
  try {
    return {*kind, read_count("recompute", text.substr(word.size() + 1), 0, 1'000'000)};
  } catch (const UsageError&) {
    throw UsageError(fmt::format("--recompute {}: no number of blocks", text),
                     fmt::format("write {}:24", word));
  }
}

/// `global`, `local`, `partial:0.1`.
Shuffle read_shuffle(const std::string& text) {
  if (text == "global") return {};
  if (text == "local") return {.global = false};
  constexpr std::string_view partial = "partial:";
  if (!text.starts_with(partial))
    throw UsageError(fmt::format("--shuffle {}: not known", text), "use global, local or partial:0.1");
  const std::string fraction = text.substr(partial.size());
  double Q = 0;
  const auto [end, failed] = std::from_chars(fraction.data(), fraction.data() + fraction.size(), Q);
  if (failed != std::errc{} || end != fraction.data() + fraction.size() || !(Q >= 0 && Q <= 1))
    throw UsageError(fmt::format("--shuffle {}: the fraction Q that is exchanged goes from 0 to 1", text),
                     "write partial:0.1; partial:0 is the same as local");
  return {.global = false, .Q = Q};
}

InputPlan read_input(const Options& options, const FrameworkSpec& framework) {
  InputPlan plan;
  plan.from = choose<InputFrom>(options, "input", "none", input_names);
  plan.readers = choose<Readers>(options, "staging", "leader", reader_names);
  plan.prefetch = choose<int>(options, "prefetch", framework.prefetch.value_or("on"), on_off) == 1;
  plan.shuffle = options.read("shuffle", "global", read_shuffle);
  for (const char* key : {"staging", "prefetch", "shuffle"})
    if (plan.from == InputFrom::none && options.typed(key))
      throw UsageError(fmt::format("--{} says how samples are read, and no --input says from where", key),
                       "add --input node or --input shared");
  if (plan.from == InputFrom::shared && options.typed("shuffle"))
    throw UsageError("--shuffle says which samples lie on which node, and shared storage has all of them",
                     "use --input node, or leave --shuffle out");
  return plan;
}

Bytes read_bytes(const std::string& option, const std::string& text) {
  if (const auto size = parse<Bytes>(text)) return *size;
  throw UsageError(fmt::format("--{} {}: not a size", option, text), "write 1GiB");
}

/// A knob that would turn nothing is a mistake.
void check_knobs(const Ask& ask, const Options& options) {
  const Training& t = ask.training;
  using Keys = std::initializer_list<std::string_view>;
  const auto refuse_knob = [&](Keys keys, const std::string& what, const std::string& help) {
    options.blame(keys, UsageError(what, help));
  };
  const std::string& name = ask.work.name;
  const auto has = [&](auto holds) { return std::ranges::any_of(ask.work.layers, holds); };
  if (options.typed("flash") && !has([](const Layer& l) { return l.op == Op::attention; }))
    refuse_knob({"flash"}, fmt::format("{} has no attention", name), "leave --flash out");
  if (t.recompute == Recompute::selective && !has([](const Layer& l) { return l.scores > 0; }))
    refuse_knob({"recompute"}, fmt::format("{} keeps no scores of attention that could be recomputed", name),
                "use --recompute full, or leave it out");
  if (t.recompute == Recompute::full && recomputable_blocks(ask.work).empty())
    refuse_knob({"recompute"}, fmt::format("{} has no blocks that could be recomputed", name),
                "leave --recompute out");
  if (const auto blocks = int(recomputable_blocks(ask.work).size()); t.recomputed_blocks > blocks)
    refuse_knob({"recompute"},
                fmt::format("--recompute: {} has {} blocks, not {}", name, blocks, t.recomputed_blocks),
                fmt::format("write a number up to {}", blocks));
  if (t.sequence_parallel && !has([](const Layer& l) { return l.op == Op::attention; }))
    refuse_knob({"sequence-parallel"}, fmt::format("samples of {} are no sequences", name),
                "leave --sequence-parallel out");
  if (t.sequence_parallel && t.whole_sums)
    refuse_knob(
        {"sequence-parallel", "reduction"},
        "sequence parallelism scatters sums over the sequence, and --reduction allreduce makes them whole",
        "leave one of them out");
  if (t.reserve >= ask.machine.device.memory)
    refuse_knob({"reserve"},
                fmt::format("--reserve {} leaves nothing of the device's {}", options.get("reserve"),
                            text(ask.machine.device.memory)),
                "write less, such as 1GiB");
  if (t.zero > 0 && t.allreduce)
    refuse_knob({"zero", "allreduce"},
                "ZeRO scatters sums of gradients, and --allreduce says how they are made for all",
                "leave --allreduce out, or use --zero 0");
  if (t.short_gradients && !(item_bytes(t.precision).master > Bytes{}))
    refuse_knob({"gradients", "precision"},
                fmt::format("--gradients fp16 is for mixed precision, not {}",
                            precision_names[std::size_t(t.precision)]),
                "add --precision fp16 or bf16");
  if (ask.fidelity == Fidelity::paper && t.input.from != InputFrom::none)
    refuse_knob({"input", "fidelity"}, "the paper's closed forms leave input out",
                "leave --input out, or --fidelity paper");
  if (ask.fidelity == Fidelity::paper &&
      (t.zero > 0 || t.sequence_parallel || t.recompute != Recompute::none))
    refuse_knob({"zero", "sequence-parallel", "recompute", "fidelity"},
                "the paper's closed forms know neither ZeRO nor sequence parallelism nor recomputation",
                "leave --fidelity paper out");
  if (ask.fidelity != Fidelity::paper) return;
  for (const char* key : {"reserve", "fragmentation", "transport", "batch-norm"})
    if (options.typed(key))  // and not what a measured run had
      refuse_knob({key, "fidelity"}, fmt::format("the paper's closed forms know nothing of --{}", key),
                  fmt::format("leave --{} out, or --fidelity paper", key));
}

/// An algorithm that sums gradients, with the share of them that is not zero.
std::pair<const Algorithm*, double> read_allreduce(const std::string& text) {
  const auto [algorithm, density] = read_algorithm("allreduce", text, Operation::allreduce);
  if (!algorithm->serves(Operation::allreduce)) refuse(refusal(*algorithm, {}));
  return {algorithm, density};
}

ConvolutionPolicy read_convolutions(const std::string& text) {
  if (const auto policy = convolution_policy(text)) return *policy;
  throw UsageError(fmt::format("--convolutions {}: not known", text),
                   "use best, no-winograd, or a size such as 1GB");
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

std::vector<StrategyName> read_strategies(const std::string& text) {
  std::vector<StrategyName> out;
  for (const std::string& name : split_list(text, ',')) out.push_back(read_strategy(name));
  if (out.empty()) throw UsageError("--strategy names none", "write -s data,data+filter");
  return out;
}

/// The strategies that were named, that of a grid, or all that there are.
std::vector<StrategyName> strategies_asked_for(const Options& options, Fidelity fidelity) {
  if (options.has("strategy")) return options.read("strategy", "", read_strategies);
  if (options.has("grid")) return {options.read("grid", "", strategy_of_grid)};
  std::vector<StrategyName> out = default_strategies();
  if (fidelity == Fidelity::paper)
    std::erase_if(out, [](const StrategyName& s) { return !paper::find_row(s.text); });
  return out;
}

double size_of(const std::vector<Parts>& grid) {
  double size = 1;
  for (const Parts& parts : grid) size *= parts.total;
  return size;
}

/// A grid that cuts what samples have, on GPUs that there are.
std::vector<Parts> read_grid_of(const std::string& text, const StrategyName& strategy, const Ask& ask) {
  const std::vector<Parts> grid = read_grid(text, strategy);
  const int extents = ask.work.input.dims;
  for (const Parts& parts : grid)
    for (std::size_t d = std::size_t(extents); d < 3; ++d)
      if (parts.cut[d] > 1)
        throw UsageError(fmt::format("--grid {}: samples of {} have {} extent{} to cut", text, ask.work.name,
                                     extents, extents == 1 ? "" : "s"),
                         extents == 1 ? "write spatial=4" : "write spatial=2x2");
  if (const double size = size_of(grid); size > ask.machine.gpus())
    throw UsageError(fmt::format("{} has {} GPUs, and the grid {} wants {}", ask.machine.name,
                                 ask.machine.gpus(), text, size),
                     "choose smaller sizes, or a larger system");
  return grid;
}

Question read_question(const Options& options, const Ask& ask, bool needs_gpus) {
  Question q;
  q.named = options.has("strategy") || options.has("grid");
  q.strategies = strategies_asked_for(options, ask.fidelity);
  if (options.has("gpus"))
    q.gpus = options.read("gpus", "", [&](const std::string& text) { return read_gpus(text, ask.machine); });
  if (options.has("grid")) {
    if (q.strategies.size() != 1)
      options.blame({"grid", "strategy"},
                    UsageError(fmt::format("--grid {} is for one strategy, and -s names {}",
                                           options.get("grid"), q.strategies.size()),
                               "leave one of them out"));
    q.grid = options.read(
        "grid", "", [&](const std::string& text) { return read_grid_of(text, q.strategies.front(), ask); });
    const double size = size_of(*q.grid);
    if (!options.has("gpus")) q.gpus = {int(size)};
    if (q.gpus != std::vector{int(size)})
      options.blame({"grid", "gpus"}, UsageError(fmt::format("the grid {} has {} GPUs, but -p says {}",
                                                             options.get("grid"), size, options.get("gpus")),
                                                 fmt::format("leave -p out, or write -p {}", size)));
  } else if (!options.has("gpus") && needs_gpus) {
    throw UsageError("how many GPUs?", "add -p 64, or a range such as -p 16..1024");
  }
  for (const StrategyName& s : q.strategies)
    if (q.named && s.axes.empty() && std::ranges::any_of(q.gpus, [](int p) { return p > 1; }))
      options.blame({"strategy", "gpus"},
                    UsageError("`serial` runs on one GPU", "use -p 1, or leave serial out"));
  q.batch = options.has("batch") ? options.read("batch", "", read_batch)
                                 : BatchRule{.per = BatchRule::Per::gpu, .value = ask.work.batch};
  if (options.has("batch"))
    options.read("batch", "", [&](const std::string& text) {
      check_batch(q.batch, q.gpus, ask.machine, text);
      return 0;
    });
  if (ask.training.framework.one_extent) q.most_extents = 1;
  q.grids = choose<Grids>(options, "grids", "best", grid_choices);
  return q;
}

/// A profile of this network on this device, trained this way: measured under the framework in question, or
/// under none. Where a profile is asked for by word, that of another framework is better than nothing.
std::optional<ProfileSpec> fitting_profile(const Catalog& catalog, const Ask& ask, bool asked) {
  std::optional<ProfileSpec> other;
  for (const std::string& name : catalog.names("profiles")) {
    SourceText source = catalog.find("profiles", name);
    // Profiles are long: only those that name the model are read.
    if (source.text.find(ask.work.name) == std::string::npos) continue;
    ProfileSpec profile = read_profile(std::move(source));
    if (profile.model != ask.work.name || profile.device != ask.machine.device.name ||
        profile.precision != ask.training.precision || profile.optimizer != ask.training.optimizer)
      continue;
    if (const std::string under = measured_under(profile); under.empty() || under == ask.framework_spec.name)
      return profile;
    if (!other) other = std::move(profile);
  }
  return asked ? other : std::nullopt;
}

/// What of a profile's origin is other than the question would have it.
std::string strangeness(const ProfileSpec& profile, const Ask& ask) {
  std::string out;
  if (profile.device != ask.machine.device.name) out += fmt::format(", measured on {}", profile.device);
  if (const std::string under = measured_under(profile); !under.empty() && under != ask.framework_spec.name)
    out += fmt::format(", measured under {}", under);
  return out;
}

/// Samples of one GPU that runs the network alone: a share if shares are asked for, else the whole
/// mini-batch.
double samples_alone(const Options& options, const Ask& ask) {
  if (!options.has("batch")) return std::ceil(ask.work.batch);
  const BatchRule rule = options.read("batch", "", read_batch);
  return std::ceil(rule.per == BatchRule::Per::node ? rule.value / ask.machine.gpus_per_node() : rule.value);
}

/// The level that was asked for, or the best that there is: measured, modelled, ideal. Times in a model file
/// are measurements, too. The paper's closed forms take what the paper took: a profile, or ideal times.
void read_layer_times(const Catalog& catalog, const Options& options, Ask& ask) {
  const Training& training = ask.training;
  enum class Level { best, ideal, modelled, profile };
  constexpr std::array<std::string_view, 4> levels{"best", "ideal", "modelled", "profile"};
  static_assert(names_every(Level::profile, levels), "name every Level");
  const auto level = choose<Level>(options, "layer-times", "best", levels);
  const bool best = level == Level::best;
  const double samples = std::ceil(ask.work.batch);
  if (options.has("profile") && !best && level != Level::profile)
    options.blame({"profile", "layer-times"},
                  UsageError(fmt::format("--profile and --layer-times {} contradict each other",
                                         options.get("layer-times")),
                             "leave one of them out"));
  ask.times = layer_times(ask.work, ask.machine, training.precision, training.optimizer,
                          best || level == Level::profile, training.framework.update_kernels);
  const KernelPolicy policy{training.convolutions, training.framework.fused_kernels,
                            training.framework.update_kernels};
  const bool closed = best && (ask.fidelity == Fidelity::paper || ask.work.has_times());
  if (level != Level::ideal && !closed) {
    const DeviceSpec& device = ask.machine.device;
    const auto kernels = kernel_device(device, training.precision, training.optimizer, policy);
    if (!kernels && level == Level::modelled)
      options.blame("layer-times",
                    UsageError(fmt::format("{} does not say how many multiprocessors {} has",
                                           ask.machine.name, device.name),
                               "add `multiprocessors: N` to its `device`, or use --layer-times ideal"));
    const auto fitted = fitted_precision(device, training.precision);
    std::string name = fitted ? device.kernels->name : "";
    if (fitted && *fitted != training.precision)
      name += fmt::format(", fitted in {}", precision_names[std::size_t(*fitted)]);
    if (kernels)
      ask.times = modelled_times(std::move(ask.times), ask.work, kernels, name, samples_alone(options, ask));
  }
  if (options.has("profile")) {
    ask.profile_spec = options.read("profile", "", [&](const std::string& name) {
      ProfileSpec profile = read_profile(catalog.find("profiles", name));
      check_profile(profile, training);
      return profile;
    });
  } else if (level == Level::profile || (best && !ask.work.has_times())) {
    ask.profile_spec = fitting_profile(catalog, ask, level == Level::profile);
    if (!ask.profile_spec && level == Level::profile)
      options.blame("layer-times", UsageError(fmt::format("no profile fits {} on {}", ask.work.name,
                                                          ask.machine.device.name),
                                              "name one with --profile; `paradl profiles` lists them"));
  }
  if (!ask.profile_spec) return;
  // What was measured is of the device as its file has it, whatever --set makes of it.
  DeviceSpec device = catalog.system(ask.system_spec.source).device;
  const auto kernels_of = [&](const DeviceSpec& spec) {
    return kernel_device(spec, training.precision, training.optimizer, policy);
  };
  if (ask.profile_spec->total) {
    ask.times = total_times(ask.work, ask.machine, *ask.profile_spec, kernels_of(device),
                            kernels_of(ask.machine.device), samples_alone(options, ask), policy.updates);
  } else {
    // Of a device whose multiprocessors are not known it suffices how times go with shapes: as on one of
    // them.
    if (!device.multiprocessors) device.multiprocessors = 1;
    ask.times.shapes = kernels_of(device);
    ask.times =
        profiled_times(std::move(ask.times), ask.work, std::make_shared<Profile>(*ask.profile_spec), samples);
  }
  ask.times.source += strangeness(*ask.profile_spec, ask);
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

std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine, bool as_in_file) {
  try {
    return topology_of(machine);
  } catch (const UsageError& error) {
    if (!as_in_file)
      throw UsageError(fmt::format("with --set, {}", error.what()),
                       "leave --set out, or give it another value");
    throw SpecError(spec.source.file, spec.source.text, {{spec.topology_spot, error.what(), error.help()}});
  }
}

Overrides read_overrides(const std::vector<std::string>& sets) {
  constexpr std::string_view framework = "framework.";
  Overrides out;
  for (const std::string& item : sets) {
    const std::size_t equals = item.find('=');
    if (equals == item.npos || equals == 0 || equals + 1 == item.size())
      throw UsageError(fmt::format("--set {}: not KEY=VALUE", item), "write --set device.memory=32GiB");
    Override change{item.substr(0, equals), item.substr(equals + 1)};
    if (!change.path.starts_with(framework)) {
      out.system.push_back(std::move(change));
    } else {
      change.path.erase(0, framework.size());
      out.framework.push_back(std::move(change));
    }
  }
  return out;
}

FrameworkSpec read_framework(const Catalog& catalog, const Options& options) {
  return options.read("framework", "ideal", [&](const std::string& name) {
    return read_framework(catalog.find("frameworks", name), read_overrides(options.sets()).framework);
  });
}

namespace {

Training training_under(const FrameworkSpec& framework, const Options& options) {
  Training t{.framework = framework.terms};
  t.transport = choose<Transport>(options, "transport", framework.transport.value_or("gpu"), transport_names);
  t.precision =
      choose<Precision>(options, "precision", framework.precision.value_or("fp32"), precision_names);
  t.optimizer =
      choose<Optimizer>(options, "optimizer", framework.optimizer.value_or("momentum"), optimizer_names);
  t.micro_batches = options.read("micro-batches", "1", [](const std::string& text) {
    return read_count("micro-batches", text, 1, 1'000'000);
  });
  std::tie(t.schedule, t.chunks) = options.read("schedule", "gpipe", read_schedule);
  if (framework.equal_stages) t.stage_cut = StageCut::equal_blocks;
  t.overlap = choose<int>(options, "overlap", framework.overlap.value_or("on"), on_off) == 1;
  t.reduction =
      choose<Reduction>(options, "reduction", framework.reduction.value_or("allreduce"), reduction_names);
  t.whole_sums = options.typed("reduction") && t.reduction == Reduction::allreduce;
  t.synchronised_batch_norm = choose<int>(options, "batch-norm", "local", batch_norms) == 1;
  t.ceil_iterations = choose<int>(options, "iterations", "exact", iteration_rules) == 1;
  if (options.has("allreduce"))
    options.read("allreduce", "", [&](const std::string& text) {
      std::tie(t.allreduce, t.density) = read_allreduce(text);
      return 0;
    });
  if (options.has("recompute"))
    options.read("recompute", "", [&](const std::string& text) {
      std::tie(t.recompute, t.recomputed_blocks) = read_recompute(text);
      return 0;
    });
  t.zero = options.read("zero", "0", [](const std::string& text) { return read_count("zero", text, 0, 3); });
  t.sequence_parallel = choose<int>(options, "sequence-parallel", "off", on_off) == 1;
  t.short_gradients = choose<int>(options, "gradients", "fp32", gradient_precisions) == 1;
  if (options.has("reserve"))
    t.reserve =
        options.read("reserve", "", [](const std::string& text) { return read_bytes("reserve", text); });
  if (options.has("fragmentation")) t.fragmentation = number(options, "fragmentation", 0, 1);
  if (options.has("gamma")) t.gamma = number(options, "gamma", 1e-3, 1e3);
  t.convolutions = options.read("convolutions", framework.convolutions.value_or("best"), read_convolutions);
  t.input = read_input(options, framework);
  return t;
}

}  // namespace

Training read_training(const Catalog& catalog, const Options& options) {
  return training_under(read_framework(catalog, options), options);
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

std::vector<Projection> Ask::ranked() {
  std::vector<Projection> results = sweep();
  rank(results);
  if (!question.named)
    if (auto beyond = best_out_of_core()) results.insert(results.begin(), *std::move(beyond));
  return results;
}

std::optional<Projection> Ask::best_out_of_core() {
  if (fidelity == Fidelity::paper || training.gamma || !knows_host(machine)) return {};
  beyond_core.clear();
  for (const StrategyName& strategy : question.strategies) beyond_core.push_back(out_of_core(strategy));
  std::optional<Projection> best;
  double fastest = std::numeric_limits<double>::infinity();  // seconds a sample, of all that fit
  const auto faster = [&](const Projection& p) {
    const double time = p.iteration().base() / p.batch;
    if (time >= fastest) return false;
    fastest = time;
    return true;
  };
  paradl::sweep(question, work, machine, [&](const StrategyName& strategy, const Mesh& mesh, double batch) {
    const Projection p = planner->project(strategy, mesh, batch);
    // Out of core is never faster: what is too slow in core need not be planned.
    if (!p.cost || p.iteration().base() / p.batch >= fastest) return p;
    if (p.feasible()) {
      if (faster(p)) best.reset();
    } else if (!strategy.out_of_core) {
      const auto number = std::size_t(&strategy - question.strategies.data());
      const Projection beyond = planner->project(beyond_core[number], mesh, batch);
      if (beyond.feasible() && faster(beyond)) best = beyond;
    }
    return p;
  });
  if (best) add_band(*best);
  return best;
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

Machine Ask::machine_with(const std::vector<Override>& more) const {
  std::vector<Override> all = overrides;
  all.insert(all.end(), more.begin(), more.end());
  SystemSpec spec = read_system(system_spec.source, all);
  spec.device.kernels = system_spec.device.kernels;
  Machine other = build_machine(spec);
  return specified_links ? without_measured_links(std::move(other)) : other;
}

Examiner Ask::examiner() const {
  return {setting(),
          fidelity == Fidelity::paper ? nullptr : planner.get(),
          triggers,
          &system_spec,
          [this](const std::vector<Override>& more) { return machine_with(more); },
          &question};
}

std::string Ask::framework_text() const {
  const std::string way = training.transport == Transport::host ? ", exchanges through the host" : "";
  return framework_spec.name == "ideal" && way.empty() && !changed_terms
             ? ""
             : fmt::format(" Framework: {}{}{}.", framework_spec.name, changed_terms ? " with --set" : "",
                           way);
}

ParameterLevel Ask::level() const {
  const auto attends = [](const Layer& layer) { return layer.op == Op::attention; };
  // Closed forms take specified links, and of a framework nothing but the layer times measured under it.
  const bool closed = fidelity == Fidelity::paper;
  return {.layers = times.level.substr(0, times.level.find(':')),  // any profile
          .links = !closed && has_measured_links(machine) ? "measured" : "ideal",
          .framework = closed ? "ideal" : framework_spec.name,
          .device = machine.device.name,
          .precision = std::string(precision_names[std::size_t(training.precision)]),
          .networks = std::ranges::any_of(work.layers, attends) ? "transformer"
                      : work.convolutional                      ? "convolutional"
                                                                : "other",
          .changed = changed,
          .fidelity = std::string(fidelities[std::size_t(fidelity)])};
}

std::optional<double> Ask::layer_error() const {
  if (times.level == "ideal") return 0;  // a bound
  const auto kernels = kernel_error_range(machine.device, training.precision);
  return kernels ? std::optional{kernels->most} : std::nullopt;
}

std::string links_text(const Machine& machine) {
  std::vector<std::string_view> measured, messages, specified;
  for (const Level& level : machine.levels)
    (level.measured.empty()                        ? specified
     : taken_from(level, LinkOperation::allreduce) ? measured
                                                   : messages)
        .push_back(level.name);
  if (specified.size() == machine.levels.size()) return "specifications in";
  if (measured.size() == machine.levels.size()) return "measured, in";
  std::string out;
  const auto add = [&](std::string_view what, const std::vector<std::string_view>& levels) {
    if (!levels.empty()) out += fmt::format("{} ({}), ", what, fmt::join(levels, ", "));
  };
  add("measured", measured);
  add("measured for single messages alone", messages);
  add("specifications", specified);
  return out + "in";
}

std::string Ask::links_text() const {
  return fmt::format("{} {}{}", level().links == "ideal" ? "specifications in" : paradl::links_text(machine),
                     std::filesystem::path(system_spec.source.file).filename().string(),
                     overrides.empty() ? "" : " with --set");
}

namespace {

/// How much room there is says nothing of how long a plan takes.
bool changes_times(const Override& change) {
  return change.path != "device.memory" && change.path != "host.memory";
}

/// What makes a question one that no measured run was an answer to: runs are those of files as they are.
std::string changed_by(const Options& options, const Ask& ask) {
  if (std::ranges::any_of(ask.overrides, changes_times) || ask.changed_terms) return "--set";
  if (ask.training.input.from != InputFrom::none) return "--input";
  if (ask.profile_spec && ask.profile_spec->device != ask.machine.device.name)
    return "a profile of another device";
  const FrameworkSpec& framework = ask.framework_spec;
  const bool transformer = ask.level().networks == "transformer";
  // Measured transformers were trained with Adam, which a framework without a choice of its own has to be
  // told.
  const bool adam = options.get("optimizer") == "adam" && transformer;
  const bool experts = std::ranges::any_of(ask.work.layers, [](const Layer& l) { return l.experts > 0; });
  if (experts) return "experts";
  if (const Recompute kind = ask.training.recompute;
      kind == Recompute::selective || (kind == Recompute::full && !transformer))
    return fmt::format("--recompute {}", options.get("recompute"));
  const std::pair<const char*, std::string> usual[] = {
      {"zero", "0"},
      {"sequence-parallel", "off"},
      {"flash", "off"},
      {"overlap", framework.overlap.value_or("on")},
      {"reduction", framework.reduction.value_or("allreduce")},
      {"convolutions", framework.convolutions.value_or("best")},
      {"optimizer", framework.optimizer.value_or(adam ? "adam" : "momentum")},
      {"batch-norm", "local"},
      {"allreduce", ""}};
  for (const auto& [key, value] : usual)
    if (options.get(key, value) != value) return fmt::format("--{} {}", key, options.get(key));
  return {};
}

void read_links(const Options& options, Ask& ask) {
  const bool measured = choose<int>(options, "links", "measured", link_levels) == 1;
  ask.specified_links = !measured;
  if (!measured)
    ask.machine = without_measured_links(std::move(ask.machine));
  else if (!has_measured_links(ask.machine))
    options.blame("links", UsageError(fmt::format("no links were measured on {}", ask.machine.name),
                                      "use --links ideal; `paradl-calibrate links` measures them"));
}

}  // namespace

void ask_anew(const Options& options, Ask& ask, bool needs_gpus) {
  ask.default_batch = !options.has("batch");
  ask.question = read_question(options, ask, needs_gpus);
  if (ask.training.gamma && std::ranges::any_of(ask.question.strategies, &StrategyName::out_of_core))
    options.blame({"gamma", "strategy"},
                  UsageError("--gamma counts memory as the paper does, which says nothing of single layers",
                             "leave --gamma or /ooc out"));
}

std::unique_ptr<Ask> read_ask(const Catalog& catalog, const Options& options, const std::string& model,
                              const std::string& system, bool needs_gpus) {
  auto ask = std::make_unique<Ask>();
  std::tie(ask->model_spec, ask->work) = load_model(catalog, model);
  if (system.empty())
    throw UsageError("which system?",
                     fmt::format("add `--on abci`, or set PARADL_SYSTEM; `paradl systems` lists all {}",
                                 catalog.names("systems").size()));
  Overrides changes = read_overrides(options.sets());
  ask->overrides = std::move(changes.system);
  ask->changed_terms = !changes.framework.empty();
  const auto find_system = [&](const std::string& name) { return catalog.find("systems", name); };
  SourceText file = system == options.get("on") ? options.read("on", "", find_system) : find_system(system);
  ask->system_spec = catalog.system(std::move(file), ask->overrides);
  ask->triggers = options.triggers();
  ask->machine = build_machine(ask->system_spec);
  ask->fidelity = choose<Fidelity>(options, "fidelity", "detailed", fidelities);
  ask->framework_spec = read_framework(catalog, options);
  ask->training = training_under(ask->framework_spec, options);
  if (options.has("flash")) set_flash(ask->work, choose<int>(options, "flash", "off", on_off) == 1);
  check_knobs(*ask, options);
  if (options.has("links")) read_links(options, *ask);
  if (options.has("samples")) ask->work.D = number(options, "samples", 1, 1e15);
  if (!(ask->work.D > 0))
    throw UsageError(fmt::format("{} names no data set, so an epoch has no length", ask->work.name),
                     "add --samples N");
  if (options.has("epochs")) ask->epochs = number(options, "epochs", 1e-6, 1e9);
  if (options.has("price"))
    ask->machine.price = options.read("price", "", [](const std::string& text) -> Price {
      if (const auto price = parse_price(text)) return *price;
      throw UsageError(fmt::format("--price {}: cannot read it", text),
                       "write what a GPU costs for an hour, such as --price 2.5USD/h");
    });
  ask->costs = options.has("epochs") || ask->machine.price;
  ask->topology = network_of(ask->system_spec, ask->machine, ask->overrides.empty());
  if (ask->training.chunks > 1 && ask->fidelity == Fidelity::paper)
    options.blame({"schedule", "fidelity"}, UsageError("the paper's closed form of a pipeline is GPipe's",
                                                       "leave --schedule out, or --fidelity paper"));
  if (ask->training.allreduce && ask->fidelity == Fidelity::paper)
    options.blame({"allreduce", "fidelity"},
                  UsageError("the paper's closed forms have their own allreduce, a ring",
                             "leave --allreduce out, or --fidelity paper"));
  if (ask->training.allreduce && ask->training.allreduce->name == "multitree" && !ask->topology)
    options.read("allreduce", "", [&](const std::string&) -> int {
      refuse("multitree: " + refusal(*ask->training.allreduce, {.ranks = 2}));
    });
  read_layer_times(catalog, options, *ask);
  ask->changed = changed_by(options, *ask);
  ask_anew(options, *ask, needs_gpus);
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
