#include "paradl/query/words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paradl {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

[[noreturn]] void bad_gpus(std::string_view text) {
  throw UsageError(fmt::format("cannot read `{}` as a number of GPUs", text),
                   "write 64, 16,64,256, 16..1024, 16..128:+16, 4..1024:x4 or 16x4 (nodes x GPUs)");
}

/// What a number with a prefix or in per cent means: `1.5M`, `20%`, and `50` for a share.
std::optional<double> meant(std::string_view text, double most) {
  constexpr std::string_view prefixes = "kMGTP";
  if (text.empty()) return {};
  const std::size_t power = prefixes.find(text.back());
  const bool percent = text.back() == '%';
  if (power != prefixes.npos || percent) text.remove_suffix(1);
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) return {};
  if (power != prefixes.npos) return *value * std::pow(1000, power + 1);
  if (percent || (most == 1 && *value > 1 && *value <= 100)) return *value / 100;
  return {};
}

int gpus_in(std::string_view text, std::string_view whole) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 1) bad_gpus(whole);
  return *value;
}

void add_range(std::string_view item, std::vector<GpuCount>& out) {
  constexpr std::size_t most_values = 10'000;
  const std::size_t dots = item.find("..");
  const std::size_t colon = item.find(':');
  const int first = gpus_in(item.substr(0, dots), item);
  const int last = gpus_in(item.substr(dots + 2, colon == item.npos ? item.npos : colon - dots - 2), item);
  if (first > last)
    throw UsageError(fmt::format("the range {} is empty", item),
                     fmt::format("write the smaller number first: -p {}..{}", last, first));
  const std::string_view step = colon == item.npos ? "x2" : item.substr(colon + 1);
  if (step.size() < 2 || (step[0] != '+' && step[0] != 'x')) bad_gpus(item);
  const int by = gpus_in(step.substr(1), item);
  if (step[0] == 'x' && by < 2) bad_gpus(item);
  for (long n = first; n <= last; n = step[0] == '+' ? n + by : n * by) {
    out.emplace_back(int(n));
    if (out.size() > most_values)
      throw UsageError(fmt::format("the range {} has too many values", item), "take larger steps");
  }
}

}  // namespace

double read_number(std::string_view name, std::string_view text, double least, double most) {
  const auto value = parse_number<double>(text);
  if (value && *value >= least && *value <= most) return *value;
  const double near = meant(text, most)
                          .value_or(value && *value > most  ? most
                                    : least < 1 && most > 1 ? 1
                                                            : least);
  throw UsageError(fmt::format("--{} {}: not a number from {} to {}", name, text, least, most),
                   fmt::format("write --{} {}", name, std::clamp(near, least, most)));
}

int read_count(std::string_view name, std::string_view text, int least, int most) {
  const auto value = parse_number<int>(text);
  if (!value || *value < least || *value > most)
    throw UsageError(fmt::format("--{} {}: not a whole number from {} to {}", name, text, least, most),
                     fmt::format("write --{} {}", name, value && *value > most ? most : least));
  return *value;
}

std::vector<std::string> split_list(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::vector<GpuCount> read_gpu_counts(std::string_view text) {
  std::vector<GpuCount> out;
  if (text.starts_with(',') || text.ends_with(',') || text.find(",,") != text.npos) bad_gpus(text);
  for (const std::string& item : split_list(text, ',')) {
    if (item.find("..") != item.npos) {
      add_range(item, out);
    } else if (const std::size_t x = item.find('x'); x != item.npos) {
      const int nodes = gpus_in(std::string_view(item).substr(0, x), item),
                each = gpus_in(std::string_view(item).substr(x + 1), item);
      if (double(nodes) * each > 1e9) bad_gpus(item);
      out.emplace_back(nodes * each, each);
    } else {
      out.emplace_back(gpus_in(item, item));
    }
  }
  if (out.empty()) bad_gpus(text);
  return out;
}

std::vector<int> gpus_of(const std::vector<GpuCount>& counts, const Machine& machine) {
  for (const auto& [gpus, per_node] : counts)
    if (per_node != 0 && per_node != int(machine.gpus_per_node()))
      throw UsageError(
          fmt::format("{} has {} GPUs per node, not {}", machine.name, machine.gpus_per_node(), per_node),
          fmt::format("write {}x{}, or change the node: --set levels.{}.size={}", gpus / per_node,
                      machine.gpus_per_node(), machine.levels.front().name, per_node));
  for (const GpuCount& count : counts)
    if (count.gpus > machine.gpus())
      throw UsageError(fmt::format("{} has {} GPU{}, not {}", machine.name, machine.gpus(),
                                   machine.gpus() == 1 ? "" : "s", count.gpus),
                       machine.gpus() == 1 ? "use -p 1" : fmt::format("use -p {} or fewer", machine.gpus()));
  std::vector<int> once;  // in the order of the request
  for (const GpuCount& count : counts)
    if (std::ranges::find(once, count.gpus) == once.end()) once.push_back(count.gpus);
  return once;
}

BatchRule read_batch(std::string_view text) {
  constexpr int most_samples = 1'000'000'000;
  BatchRule rule{.per = BatchRule::Per::whole, .value = 0};
  const std::size_t slash = text.find('/');
  const std::string_view unit = slash == text.npos ? "" : text.substr(slash + 1);
  if (unit == "gpu")
    rule.per = BatchRule::Per::gpu;
  else if (unit == "node")
    rule.per = BatchRule::Per::node;
  const auto value = parse_number<double>(text.substr(0, slash));
  const bool whole = rule.per == BatchRule::Per::whole;
  const bool known_unit = slash == text.npos || !whole;
  if (!value || !known_unit || !std::isfinite(*value) || *value <= 0 ||
      (whole && *value != std::floor(*value)))
    throw UsageError(fmt::format("cannot read `{}` as a mini-batch", text),
                     "write 2048 (the whole mini-batch), 32/gpu or 64/node");
  if (*value > most_samples)
    throw UsageError(fmt::format("a mini-batch of {} is more than {} samples", text, most_samples),
                     "write 2048 (the whole mini-batch), 32/gpu or 64/node");
  rule.value = *value;
  return rule;
}

std::string text_of(const BatchRule& rule) {
  switch (rule.per) {
    case BatchRule::Per::gpu:
      return fmt::format("{}/gpu", rule.value);
    case BatchRule::Per::node:
      return fmt::format("{}/node", rule.value);
    case BatchRule::Per::whole:
      break;
  }
  return fmt::format("{}", rule.value);
}

std::vector<StrategyName> read_strategies(const std::string& text) {
  std::vector<StrategyName> out;
  for (const std::string& name : split_list(text, ',')) out.push_back(read_strategy(name));
  if (out.empty()) throw UsageError("--strategy is empty", "write -s data,data+filter");
  return out;
}

PipelineOrder read_schedule(const std::string& text) {
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
      throw UsageError(fmt::format("--schedule {}: {} takes no number of chunks", text, word),
                       fmt::format("write {}, or interleaved{}", word, text.substr(colon)));
    return {*found, 1};
  }
  if (colon == text.npos)
    throw UsageError("--schedule interleaved: the number of chunks per stage is missing",
                     "write interleaved:2");
  const std::string count = text.substr(colon + 1);
  const auto chunks = parse_number<int>(count);
  if (!chunks || *chunks < 1 || *chunks > 999)
    throw UsageError(fmt::format("--schedule {}: `{}` is not a number of chunks from 1 to 999", text, count),
                     "write interleaved:2");
  return {*chunks > 1 ? *found : PipelineSchedule::one_forward_one_backward, *chunks};
}

Recomputation read_recompute(const std::string& text) {
  const std::string word = text.substr(0, text.find(':'));
  const auto kind = find_name<Recompute>(recompute_names, word);
  if (!kind)
    throw UsageError(fmt::format("--recompute {}: not known", text),
                     fmt::format("use {}, or full:24 for 24 blocks", fmt::join(recompute_names, ", ")));
  if (word == text) return {*kind, -1};
  if (*kind == Recompute::none)
    throw UsageError(fmt::format("--recompute {}: none takes no number of blocks", text),
                     fmt::format("write none, or full{}", text.substr(word.size())));
  const auto blocks = parse_number<int>(std::string_view(text).substr(word.size() + 1));
  if (!blocks || *blocks < 0 || *blocks > 1'000'000)
    throw UsageError(fmt::format("--recompute {}: not a number of blocks", text),
                     fmt::format("write {}:24", word));
  return {*kind, *blocks};
}

Shuffle read_shuffle(const std::string& text) {
  if (text == "global") return {};
  if (text == "local") return {.global = false};
  constexpr std::string_view partial = "partial:";
  if (!text.starts_with(partial))
    throw UsageError(fmt::format("--shuffle {}: not known", text), "use global, local or partial:0.1");
  const auto Q = parse_number<double>(std::string_view(text).substr(partial.size()));
  if (!Q || !(*Q >= 0 && *Q <= 1))
    throw UsageError(fmt::format("--shuffle {}: the exchanged fraction Q must be from 0 to 1", text),
                     "write partial:0.1; partial:0 is the same as local");
  return {.global = false, .Q = *Q};
}

Override read_change(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    throw UsageError(fmt::format("--set {}: not KEY=VALUE", text), "write --set device.memory=32GiB");
  return read_override(text.substr(0, equals), text.substr(equals + 1));
}

void add_change(Query& query, Override change) {
  constexpr std::string_view framework = "framework.";
  if (change.path == "framework")
    throw UsageError(fmt::format("--set framework={}: a framework is an option of its own", change.text()),
                     fmt::format("write --framework {}, or --set framework.overlap=on", change.text()));
  if (!change.path.starts_with(framework)) return query.system_changes.push_back(std::move(change));
  change.path.erase(0, framework.size());
  query.framework_changes.push_back(std::move(change));
}

}  // namespace paradl
