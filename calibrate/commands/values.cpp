#include "calibrate/commands/values.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "paradl/console/ranges.hpp"
#include "paradl/core/error.hpp"
#include "paradl/core/units.hpp"

namespace paradl::calibrate {
namespace {

BatchRule rule_of(const Query& query, const Workload& work) {
  return query.batch.value_or({.per = BatchRule::Per::gpu, .value = work.batch});
}

void check_samples(double samples, const char* use) {
  if (samples < 1 || samples != std::floor(samples) || samples > 1e6)
    throw UsageError(fmt::format("a mini-batch of {} samples cannot be {}", samples, use), "add -b 16");
}

}  // namespace

Seconds read_seconds(const std::string& name, const std::string& text) {
  if (const auto time = parse<Seconds>(text); time && *time > Seconds{}) return *time;
  throw UsageError(fmt::format("--{} {}: not a time", name, text), fmt::format("write --{} 60s", name));
}

Bytes read_bytes(const std::string& name, const std::string& text) {
  if (const auto size = parse<Bytes>(text); size && *size >= Bytes{8}) return *size;
  throw UsageError(fmt::format("--{} {}: not a size", name, text), fmt::format("write --{} 16MB", name));
}

BatchRule layer_batch(const Query& query, const Workload& work) {
  const BatchRule rule = rule_of(query, work);
  if (rule.per == BatchRule::Per::node)
    throw UsageError("layers are measured for one rank, not for a node", "write -b 32 or -b 32/gpu");
  check_samples(rule.value, "measured");
  return rule;
}

std::int64_t samples_of(const Query& query, const Workload& work, const std::vector<int>& nodes) {
  const BatchRule rule = rule_of(query, work);
  double samples = rule.value;
  if (rule.per == BatchRule::Per::gpu) samples *= double(nodes.size());
  if (rule.per == BatchRule::Per::node) samples *= 1 + std::ranges::max(nodes);
  check_samples(samples, "rehearsed");
  return std::int64_t(samples);
}

void LayerRuleWords::define(const Arguments& command) {
  const std::string group = "When to stop";
  command.text("--noise", noise,
               {.help = "a shape is finished when the relative error of its median is below this; default 2%",
                .meta = "SHARE",
                .group = group});
  command.text("--min-time", least,
               {.help = "least time for each shape; default 10ms", .meta = "TIME", .group = group});
  command.text("--time", time,
               {.help = "no round begins after this; default 10min", .meta = "TIME", .group = group});
  command.text("--rounds", rounds,
               {.help = "largest number of rounds; default 10", .meta = "N", .group = group});
}

LayerRule LayerRuleWords::read() const {
  LayerRule rule;
  if (!noise.empty()) {
    const bool in_percent = noise.ends_with('%');
    rule.noise = in_percent
                     ? read_number("noise", std::string_view(noise).substr(0, noise.size() - 1), 0, 100) / 100
                     : read_number("noise", noise, 0, 1);
  }
  if (!least.empty()) rule.least = read_seconds("min-time", least);
  if (!time.empty()) rule.time = read_seconds("time", time);
  if (!rounds.empty()) rule.rounds = read_count("rounds", rounds, 1, 1000);
  return rule;
}

std::vector<std::string> files_of(const ModelSpec& model) {
  std::vector<std::string> out;
  for (const SourceText& source : model.sources) out.push_back(source.file);
  return out;
}

void check_name(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+';
  };
  if (name.empty() || name.front() == '.' || name.front() == '-' || !std::ranges::all_of(name, plain))
    throw UsageError(fmt::format("`{}` cannot be the name of a file", name),
                     "use letters, digits, - _ . and +; -o names another folder");
}

}  // namespace paradl::calibrate
