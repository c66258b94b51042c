#include "paradl/console/ranges.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

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

int gpus_in(std::string_view text, std::string_view whole) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 1) bad_gpus(whole);
  return *value;
}

void add_range(std::string_view item, std::vector<int>& out) {
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
    out.push_back(int(n));
    if (out.size() > most_values)
      throw UsageError(fmt::format("the range {} has too many values", item), "take larger steps");
  }
}

}  // namespace

std::vector<std::string> split_list(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::vector<int> read_gpus(std::string_view text, const Machine& machine) {
  std::vector<int> out;
  if (text.starts_with(',') || text.ends_with(',') || text.find(",,") != text.npos) bad_gpus(text);
  for (const std::string& item : split_list(text, ',')) {
    if (item.find("..") != item.npos) {
      add_range(item, out);
    } else if (const std::size_t x = item.find('x'); x != item.npos) {
      const int nodes = gpus_in(std::string_view(item).substr(0, x), item),
                each = gpus_in(std::string_view(item).substr(x + 1), item);
      if (each != int(machine.gpus_per_node()))
        throw UsageError(
            fmt::format("{} has {} GPUs a node, not {}", machine.name, machine.gpus_per_node(), each),
            fmt::format("write {}x{}, or change the node: --set levels.{}.size={}", nodes,
                        machine.gpus_per_node(), machine.levels.front().name, each));
      if (double(nodes) * each > 1e9) bad_gpus(item);
      out.push_back(nodes * each);
    } else {
      out.push_back(gpus_in(item, item));
    }
  }
  if (out.empty()) bad_gpus(text);
  for (const int p : out)
    if (p > machine.gpus())
      throw UsageError(fmt::format("{} has {} GPU{}, not {}", machine.name, machine.gpus(),
                                   machine.gpus() == 1 ? "" : "s", p),
                       machine.gpus() == 1 ? "use -p 1" : fmt::format("use -p {} or fewer", machine.gpus()));
  std::vector<int> once;  // in the order in which they were asked for
  for (const int p : out)
    if (std::ranges::find(once, p) == once.end()) once.push_back(p);
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

double read_number(std::string_view name, std::string_view text, double least, double most) {
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= least) || !(*value <= most))
    throw UsageError(fmt::format("--{} {}: not a number from {} to {}", name, text, least, most),
                     fmt::format("write --{} {}", name,
                                 value && *value > most  ? most
                                 : least < 1 && most > 1 ? 1.0
                                                         : least));
  return *value;
}

int read_count(std::string_view name, std::string_view text, int least, int most) {
  const auto value = parse_number<int>(text);
  if (!value || *value < least || *value > most)
    throw UsageError(fmt::format("--{} {}: not a whole number from {} to {}", name, text, least, most),
                     fmt::format("write --{} {}", name, least));
  return *value;
}

}  // namespace paradl
