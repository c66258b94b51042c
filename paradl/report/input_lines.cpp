// How samples are read and distributed, as text and JSON.
#include "paradl/report/input_lines.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

std::string from_text(const InputPlan& plan) {
  return plan.from == InputFrom::node ? "node storage" : "the shared file system";
}

std::string who(const InputPlan& plan, const InputCost& input) {
  const bool leads = plan.readers == Readers::leader && input.space * input.copies > 1;
  return fmt::format("{} {}{}", count(input.readers), leads ? "leader" : "GPU",
                     input.readers == 1 ? "" : "s");
}

/// "4 ", or "" for one.
std::string times(double readers) { return readers == 1 ? "" : count(readers) + " "; }

/// "all of it overlaps with the iteration", "12.0 s of it overlap ...", "no overlap (no prefetch)".
std::string hidden_text(const InputPlan& plan, const InputCost& input) {
  if (!plan.prefetch) return "no overlap (no prefetch)";
  if (input.exposed() > Seconds{})
    return fmt::format("{} of it overlap with the iteration", text(input.hidden));
  return "all of it overlaps with the iteration";
}

std::string_view staging_word(const InputCost& input) {
  if (input.space > 1) return input.copies > 1 ? "scattered and broadcast" : "scattered";
  return "broadcast";
}

/// What limits reading: the formula, and its rate.
struct Pace {
  std::string formula, rate;
};
Pace pace_of(const Setting& setting, const InputCost& input) {
  const Machine& machine = setting.machine;
  const InputPlan& plan = setting.training.input;
  const std::string whole = plan.readers == Readers::each && input.space > 1 ? "B/(M n)" : "B/M";
  switch (input.bound) {
    case ReadBound::reader:
      return {fmt::format("{} s / r", whole),
              fmt::format("r = {} of one reader", text(*setting.training.framework.reader))};
    case ReadBound::storage:
      return {fmt::format("{}{} s / R", times(plan.from == InputFrom::node ? input.at_once : input.readers),
                          whole),
              fmt::format("R = {} of {}", text(*input_storage(machine, plan.from)->read),
                          plan.from == InputFrom::node ? "a node" : "the file system")};
    case ReadBound::ports:
      return {fmt::format("{}{} s β/ports", times(input.at_once), whole),
              fmt::format("{} x {} of a node", three_digits(machine.levels[1].ports),
                          text(1.0 / machine.levels[1].link.beta))};
  }
  return {};
}

/// "unknown: abci.yaml has no price" -> what is missing.
std::string without_unknown(const std::string& lack) { return lack.substr(lack.find(": ") + 2); }

std::string staging_formula(const InputCost& input) {
  std::string out;
  if (input.space > 1) out = "Σ (n-1)(α + m/n φ β)";
  if (input.copies > 1)
    out +=
        fmt::format("{}Σ ⌈log2 n⌉(α + m{} φ β)", out.empty() ? "" : " + ", input.space > 1 ? "/n_space" : "");
  return out;
}

/// What a worker and a node store, with the formula.
std::string kept_text(const Setting& setting, const InputCost& input) {
  const Shuffle& shuffle = setting.training.input.shuffle;
  const auto& node = setting.machine.node_storage;
  const std::string room =
      node && node->capacity ? fmt::format("of {}", decimal(*node->capacity)) : "of an unknown capacity";
  const std::string kept = fmt::format("a node stores {} {}; shuffle {}", decimal(input.kept_by_node), room,
                                       shuffle_text(shuffle));
  if (shuffle.global) return fmt::format("storage  N s: {}, every node has all samples", kept);
  return fmt::format("storage  {} s = {} per worker: {}", shuffle.Q > 0 ? "(1+Q) N/M" : "N/M",
                     decimal(input.kept_by_worker), kept);
}

}  // namespace

std::string input_lack(const Setting& setting, const InputCost& input) {
  const std::string system = std::filesystem::path(setting.machine.file).filename().string();
  const std::string_view from = input_names[std::size_t(setting.training.input.from)];
  switch (input.lacks) {
    case InputLacks::nothing:
      return {};
    case InputLacks::sample_size:
      return fmt::format("unknown: the model file of {} has no dataset.sample", setting.work.name);
    case InputLacks::storage:
      return fmt::format("unknown: {} has no storage.{}", system, from);
    case InputLacks::read_rate:
      return fmt::format("unknown: {} has no storage.{}.read", system, from);
  }
  return {};
}

std::string storage_cure(const Setting& setting, const Projection& p) {
  const auto broken = [](const Limit& limit) { return limit.rule == LimitRule::storage && !limit.holds(); };
  if (std::ranges::none_of(p.limits.all(), broken)) return {};
  const Machine& machine = setting.machine;
  const Shuffle& shuffle = setting.training.input.shuffle;
  const double most = machine.gpus() / machine.gpus_per_node();
  std::string out;
  // If a worker spans several nodes, its leader's node stores its samples, so more nodes are needed.
  const double nodes = std::ceil(p.gpus / machine.gpus_per_node());
  const double needed = shuffle.global
                            ? nodes_to_hold(setting.work, *machine.node_storage, 0)
                            : std::ceil(nodes * (p.input->kept_by_node / *machine.node_storage->capacity));
  if (needed <= most)
    out = fmt::format("{}{} nodes or more", shuffle.global ? "--shuffle local on " : "", count(needed));
  if (machine.shared_storage) out += fmt::format("{}--input shared", out.empty() ? "" : ", or ");
  return out.empty() ? "it does not fit on any number of nodes" : "use " + out;
}

std::string input_sentence(const Setting& setting, const Projection& p) {
  if (!p.input) return {};
  const InputPlan& plan = setting.training.input;
  const InputCost& input = *p.input;
  const std::string lack = input_lack(setting, input);
  if (!input.known) return fmt::format("Input: its time is not counted ({}).", lack);
  std::string out = fmt::format("Input of {}: {} read{} {}{} from {} in {}", p.strategy(),
                                who(plan, input), input.readers == 1 ? "s" : "", decimal(input.read),
                                input.readers == 1 ? "" : " each", from_text(plan), text(input.reading));
  if (input.staged > Bytes{}) out += fmt::format(", {} in {}", staging_word(input), text(input.staging));
  if (input.exchange > Seconds{}) out += fmt::format(", shuffled in {}", text(input.exchange));
  out += fmt::format("; {}.", hidden_text(plan, input));
  if (!lack.empty()) out += fmt::format(" This is a lower bound: {}.", without_unknown(lack));
  return out;
}

std::string input_lines(const Setting& setting, const Projection& p) {
  if (!p.input) return {};
  const InputPlan& plan = setting.training.input;
  const InputCost& input = *p.input;
  const std::string lack = input_lack(setting, input);
  if (!input.known && input.lacks == InputLacks::sample_size) return fmt::format(" input  {}\n", lack);
  std::string out;
  const auto add = [&](const std::string& line) {
    out += fmt::format(" {}  {}\n", out.empty() ? "input" : "     ", line);
  };
  if (!input.known) {
    add(fmt::format("the time is not counted ({})", lack));
  } else {
    const auto [formula, rate] = pace_of(setting, input);
    add(fmt::format("read  {} = {}: {} from {} by {}{}; {}, s = {}, M = {} worker{}", formula,
                    text(input.reading), decimal(input.read), from_text(plan),
                    input.readers == 1 ? "" : "each of ", who(plan, input), rate,
                    decimal(setting.work.sample), count(input.workers), input.workers == 1 ? "" : "s"));
    if (!lack.empty()) add(fmt::format("this is a lower bound: {}", without_unknown(lack)));
    if (input.staged > Bytes{})
      add(fmt::format("stage  {} = {}: m = {} {} to {} GPUs", staging_formula(input), text(input.staging),
                      decimal(input.staged), staging_word(input), count(input.space * input.copies)));
  }
  if (input.kept_by_node > Bytes{}) add(kept_text(setting, input));
  if (const std::string cure = storage_cure(setting, p); !cure.empty()) add("fits if you " + cure);
  if (input.exchanged > Bytes{})
    add(fmt::format("shuffle  all-to-all of Q N/M s = {} per worker and epoch: {} = {} per iteration",
                    decimal(input.exchanged), text(p.iterations * input.exchange), text(input.exchange)));
  if (input.known)
    add(fmt::format("in total {} per iteration, {}", text(input.total()), hidden_text(plan, input)));
  return out;
}

nlohmann::ordered_json input_json(const Setting& setting, const InputCost& input) {
  using Json = nlohmann::ordered_json;
  const InputPlan& plan = setting.training.input;
  const auto if_known = [&](double value) { return input.known ? Json(value) : Json(nullptr); };
  constexpr std::array<std::string_view, 3> bounds{"reader", "storage", "ports"};
  static_assert(names_every(ReadBound::ports, bounds), "name every ReadBound");
  Json out{{"from", input_names[std::size_t(plan.from)]},
           {"staging", reader_names[std::size_t(plan.readers)]},
           {"prefetch", plan.prefetch},
           {"workers", std::llround(input.workers)},
           {"readers", std::llround(input.readers)},
           {"bytes_per_reader", input.read.base()},
           {"staged_bytes", input.staged.base()},
           {"read_s", if_known(input.reading.base())},
           {"stage_s", if_known(input.staging.base())},
           {"exchange_s", if_known(input.exchange.base())},
           {"total_s", if_known(input.total().base())},
           {"hidden_s", if_known(input.hidden.base())},
           {"exposed_s", if_known(input.exposed().base())},
           {"bound_by", input.known ? Json(bounds[std::size_t(input.bound)]) : Json(nullptr)}};
  if (plan.from == InputFrom::node) {
    const auto& node = setting.machine.node_storage;
    out["shuffle"] = {
        {"mode", plan.shuffle.global  ? "global"
                 : plan.shuffle.Q > 0 ? "partial"
                                      : "local"},
        {"fraction", plan.shuffle.global ? Json(nullptr) : Json(plan.shuffle.Q)},
        {"bytes_per_worker", input.kept_by_worker.base()},
        {"bytes_per_node", input.kept_by_node.base()},
        {"node_capacity_bytes", node && node->capacity ? Json(node->capacity->base()) : Json(nullptr)},
        {"exchanged_bytes_per_worker", input.exchanged.base()}};
  }
  if (const std::string lack = input_lack(setting, input); !lack.empty())
    out["unknown"] = without_unknown(lack);
  return out;
}

}  // namespace paradl
