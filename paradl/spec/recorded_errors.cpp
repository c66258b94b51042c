#include "paradl/spec/recorded_errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/kernel_errors.hpp"
#include "paradl/spec/precision.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// Reads one of a few words.
std::string one_of(Reader& map, const std::string& key, const std::vector<std::string>& words) {
  const std::string word = map.text(key);
  if (!word.empty() && std::ranges::find(words, word) == words.end())
    map.wrong(key, fmt::format("`{}` is not one of {}", word, fmt::join(words, ", ")),
              did_you_mean(word, words));
  return word;
}

bool same_runs(const RecordedError& a, const RecordedError& b) {
  return a.strategy == b.strategy && a.from < b.below && b.from < a.below && a.level == b.level;
}

const std::vector<std::string> network_kinds{"convolutional", "transformer", "other"};
/// Kinds of layer times with similar errors, neighbours being most similar. Errors of peak rates differ.
const std::vector<std::string> timed_layers{"model file", "profile", "modelled"};

ParameterLevel read_level(Reader& map) {
  return {.layers = one_of(map, "layers", {"ideal", "modelled", "profile"}),
          .links = one_of(map, "links", {"ideal", "measured"}),
          .framework = map.text("framework"),
          .device = map.text("device"),
          .precision = one_of(map, "precision", {precision_names.begin(), precision_names.end()}),
          .networks = one_of(map, "networks", network_kinds),
          .fidelity = map.has("fidelity") ? one_of(map, "fidelity", {"detailed", "paper"}) : "detailed"};
}

RecordedError read_error(Reader& map, const ParameterLevel& level) {
  RecordedError error{.level = level, .strategy = map.text("strategy"), .spot = map.spot("strategy")};
  error.from = map.number("from", 1, 1e9, 1.0);
  if (map.has("below")) error.below = map.number("below", 1, 1e9);
  if (error.below <= error.from)
    map.wrong("below", fmt::format("`below` is {}, and `from` is {}", error.below, error.from),
              "write a number above `from`");
  error.runs = int(map.whole("runs", 1, 1e9));
  error.mean_accuracy = map.number("mean-accuracy", 0, 1);
  if (map.has("left-out-accuracy")) error.left_out_accuracy = map.number("left-out-accuracy", 0, 1);
  error.low = map.number("low", 1 / most_times, 1);
  error.high = map.number("high", 1, most_times);
  error.least = map.number("least", 1 / most_times, most_times, error.low);
  error.most = map.number("most", 1 / most_times, most_times, error.high);
  if (error.most < error.least)
    map.wrong("most", fmt::format("`most` is {}, and `least` is {}", error.most, error.least),
              "write a number that is at least `least`");
  map.finish();
  return error;
}

}  // namespace

RecordedErrors read_recorded_errors(const SourceText& source) {
  const YAML::Node root = shared_yaml(source);
  Problems problems(source);
  Reader map(root, problems, "a record of errors");
  RecordedErrors out{.source = map.text("source", ""), .errors = {}};
  if (map.require("records"))
    for (const YAML::Node& item : map.items("records")) {
      Reader of(item, problems, "a level");
      const ParameterLevel level = read_level(of);
      if (of.require("errors"))
        for (const YAML::Node& one : of.items("errors")) {
          Reader entry(one, problems, "an error");
          RecordedError error = read_error(entry, level);
          if (std::ranges::any_of(out.errors, [&](const RecordedError& e) { return same_runs(e, error); }))
            problems.add(entry.spot(), "the same runs are already recorded above", "remove one of them");
          out.errors.push_back(std::move(error));
        }
      of.finish();
    }
  map.finish();
  problems.raise();
  return out;
}

std::string recorded_text(const RecordedErrors& recorded) {
  std::string out =
      "# The error of projections, by their inputs: measured / projected was between `least` and `most` in "
      "these runs,\n"
      "# and is expected between `low` and `high` in nine of ten cases. If there is a `left-out-accuracy`, "
      "`low` and `high`\n"
      "# come from projections with parameters that were fitted without runs like the projected one. Written "
      "by\n"
      "# `paradl validate --record` (scripts/record).\n"
      "source: |\n";
  for (const std::string_view line : split(recorded.source, '\n'))
    if (!line.empty()) out += fmt::format("  {}\n", line);
  out += "records:\n";
  const ParameterLevel* level = nullptr;
  for (const RecordedError& e : recorded.errors) {
    if (!level || *level != e.level)
      out += fmt::format(
          "  - layers: {}\n    links: {}\n    framework: {}\n    device: {}\n    precision: {}\n    "
          "networks: {}\n{}"
          "    errors:\n",
          e.level.layers, e.level.links, e.level.framework, foreign::scalar(e.level.device),
          e.level.precision, e.level.networks,
          e.level.fidelity == "detailed" ? "" : fmt::format("    fidelity: {}\n", e.level.fidelity));
    level = &e.level;
    out += fmt::format(
        "      - {{strategy: {}, from: {:.0f}{}, runs: {}, mean-accuracy: {:.3f}{}, least: {:.3f}, most: "
        "{:.3f}, low: "
        "{:.3f}, high: {:.3f}}}\n",
        e.strategy, e.from, std::isfinite(e.below) ? fmt::format(", below: {:.0f}", e.below) : "", e.runs,
        e.mean_accuracy,
        e.left_out_accuracy ? fmt::format(", left-out-accuracy: {:.3f}", *e.left_out_accuracy) : "", e.least,
        e.most, e.low, e.high);
  }
  return out;
}

RecordedErrors merged(RecordedErrors old, const std::vector<RecordedError>& fresh,
                      const std::string& origin) {
  const auto replaced = [&](const RecordedError& e) {
    return std::ranges::any_of(fresh, [&](const RecordedError& f) { return f.level == e.level; });
  };
  const auto place = std::ranges::find_if(old.errors, replaced) - old.errors.begin();
  std::erase_if(old.errors, replaced);
  old.errors.insert(old.errors.begin() + place, fresh.begin(), fresh.end());
  if (old.source.find(origin) == old.source.npos)
    old.source += (old.source.empty() || old.source.ends_with('\n') ? "" : "\n") + origin;
  return old;
}

const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus) {
  if (strategy.find('/') != strategy.npos) return nullptr;
  const std::string own = strategy == "serial" ? "data" : strategy;  // `serial` is data=1
  for (const std::string& name : {own, std::string(any_strategy)}) {
    const auto found = std::ranges::find_if(errors, [&](const RecordedError& e) {
      return e.level == level && e.strategy == name && e.from <= gpus && gpus < e.below;
    });
    if (found != errors.end()) return &*found;
  }
  return nullptr;
}

RecordedError widened(RecordedError error, const Uncertainty& by) {
  error.low = std::exp(-std::hypot(std::log(error.low), std::log(by.low)));
  error.high = std::exp(std::hypot(std::log(error.high), std::log(by.high)));
  return error;
}

Uncertainty kernel_uncertainty(const ParameterLevel& level, double layer_error) {
  if (level.layers == "ideal") return {.low = 1, .high = 1 + data_sheet_errors.most};
  return {.low = 1 - layer_error, .high = 1 + layer_error};
}

namespace {

/// How a recorded level differs from the requested one, most important difference first, so that distances
/// are compared lexicographically.
struct Distance {
  bool networks, links;
  std::ptrdiff_t layers;
  bool framework, device, precision;
  friend auto operator<=>(const Distance&, const Distance&) = default;
  /// A framework does not count, because its layer times are those of `ideal`.
  bool elsewhere() const { return networks || links || layers > 0 || device || precision; }
};

/// Nothing if runs of that level say nothing about the requested one.
std::optional<Distance> distance(const ParameterLevel& asked, const ParameterLevel& there) {
  const auto known = [](const std::string& word, const std::vector<std::string>& words) {
    return std::ranges::find(words, word) != words.end();
  };
  const auto both_known = [&](std::string ParameterLevel::*part, const std::vector<std::string>& words) {
    return asked.*part == there.*part || (known(asked.*part, words) && known(there.*part, words));
  };
  const Distance out{.networks = asked.networks != there.networks,
                     .links = asked.links != there.links,
                     .layers = std::abs(std::ranges::find(timed_layers, asked.layers) -
                                        std::ranges::find(timed_layers, there.layers)),
                     .framework = asked.framework != there.framework,
                     .device = asked.device != there.device,
                     .precision = asked.precision != there.precision};
  if (asked.fidelity != there.fidelity || !both_known(&ParameterLevel::networks, network_kinds) ||
      !both_known(&ParameterLevel::layers, timed_layers) ||
      (out.links && !(asked.links == "measured" && there.links == "ideal")) ||
      (out.framework && there.framework != "ideal"))
    return {};
  return out;
}

}  // namespace

std::vector<RecordedError> nearest_recorded(const std::vector<RecordedError>& errors,
                                            const ParameterLevel& level, double layer_error) {
  const ParameterLevel* nearest = nullptr;
  Distance least{};
  for (const RecordedError& e : errors)
    if (const auto found = distance(level, e.level); found && (!nearest || *found < least))
      nearest = &e.level, least = *found;
  std::vector<RecordedError> out;
  if (!nearest) return out;
  std::ranges::copy_if(errors, std::back_inserter(out),
                       [&](const RecordedError& e) { return e.level == *nearest; });
  if (least.elsewhere() || !level.changed.empty())
    for (RecordedError& e : out) e = widened(std::move(e), kernel_uncertainty(level, layer_error));
  return out;
}

}  // namespace paradl
