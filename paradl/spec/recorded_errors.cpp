#include "paradl/spec/recorded_errors.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/precision.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// One of few words.
std::string one_of(Reader& map, const std::string& key, const std::vector<std::string>& words) {
  const std::string word = map.text(key);
  if (!word.empty() && std::ranges::find(words, word) == words.end())
    map.wrong(key, fmt::format("`{}` is none of {}", word, fmt::join(words, ", ")),
              did_you_mean(word, words));
  return word;
}

bool same_runs(const RecordedError& a, const RecordedError& b) {
  return a.level == b.level && a.strategy == b.strategy && a.from < b.below && b.from < a.below;
}

}  // namespace

RecordedErrors read_recorded_errors(const SourceText& source) {
  const YAML::Node root = shared_yaml(source);
  Problems problems(source);
  Reader map(root, problems, "a record of errors");
  RecordedErrors out{.source = map.text("source", ""), .errors = {}};
  const std::vector<std::string> precisions(precision_names.begin(), precision_names.end());
  if (map.require("errors"))
    for (const YAML::Node& item : map.items("errors")) {
      Reader entry(item, problems, "an error");
      RecordedError error;
      error.level = {.layers = one_of(entry, "layers", {"ideal", "modelled", "profile"}),
                     .links = one_of(entry, "links", {"ideal", "measured"}),
                     .framework = entry.text("framework"),
                     .device = entry.text("device"),
                     .precision = one_of(entry, "precision", precisions),
                     .networks = one_of(entry, "networks", {"convolutional", "transformer", "other"})};
      error.strategy = entry.text("strategy");
      error.spot = entry.spot("strategy");
      error.from = entry.number("from", 1, 1e9, 1.0);
      if (entry.has("below")) error.below = entry.number("below", 1, 1e9);
      error.runs = int(entry.number("runs", 1, 1e9));
      error.mean_accuracy = entry.number("mean-accuracy", 0, 1);
      if (entry.has("left-out-accuracy")) error.left_out_accuracy = entry.number("left-out-accuracy", 0, 1);
      error.low = entry.number("low", 0, 1);
      error.high = entry.number("high", 1, 1e6);
      entry.finish();
      if (std::ranges::any_of(out.errors, [&](const RecordedError& e) { return same_runs(e, error); }))
        problems.add(entry.spot(), "the same runs are on record above", "remove one of them");
      out.errors.push_back(std::move(error));
    }
  map.finish();
  problems.raise();
  return out;
}

std::string recorded_text(const RecordedErrors& recorded) {
  std::string out =
      "# How far projections were from measured runs, by what they rest on: nine times in ten, measured / "
      "projected lay\n"
      "# within `low` and `high`. Where there is a `left-out-accuracy`, these rest on projections whose "
      "parameters were\n"
      "# fitted without runs like the one in question. Written by `paradl validate --record` "
      "(scripts/record).\n"
      "source: |\n";
  for (const std::string_view line : split(recorded.source, '\n'))
    if (!line.empty()) out += fmt::format("  {}\n", line);
  out += "errors:\n";
  for (const RecordedError& e : recorded.errors)
    out += fmt::format(
        "  - {{layers: {}, links: {}, framework: {}, device: {}, precision: {}, networks: {}, strategy: {}, "
        "from: {:.0f}{}, runs: {}, mean-accuracy: {:.3f}{}, low: {:.3f}, high: {:.3f}}}\n",
        e.level.layers, e.level.links, e.level.framework, foreign::scalar(e.level.device), e.level.precision,
        e.level.networks, e.strategy, e.from,
        std::isfinite(e.below) ? fmt::format(", below: {:.0f}", e.below) : "", e.runs, e.mean_accuracy,
        e.left_out_accuracy ? fmt::format(", left-out-accuracy: {:.3f}", *e.left_out_accuracy) : "", e.low,
        e.high);
  return out;
}

RecordedErrors merged(RecordedErrors old, const std::vector<RecordedError>& fresh,
                      const std::string& origin) {
  const auto replaced = [&](const RecordedError& e) {
    return std::ranges::any_of(fresh, [&](const RecordedError& f) { return f.level == e.level; });
  };
  std::erase_if(old.errors, replaced);
  old.errors.insert(old.errors.end(), fresh.begin(), fresh.end());
  if (old.source.find(origin) == old.source.npos)
    old.source += (old.source.empty() || old.source.ends_with('\n') ? "" : "\n") + origin;
  return old;
}

const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus) {
  if (strategy.find('/') != strategy.npos) return nullptr;
  for (const std::string& name : {strategy, std::string(any_strategy)}) {
    const auto found = std::ranges::find_if(errors, [&](const RecordedError& e) {
      return e.level == level && e.strategy == name && e.from <= gpus && gpus < e.below;
    });
    if (found != errors.end()) return &*found;
  }
  return nullptr;
}

}  // namespace paradl
