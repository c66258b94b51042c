#include "paradl/spec/recorded_errors.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {

std::vector<RecordedError> read_recorded_errors(const SourceText& source) {
  const YAML::Node root = parse_yaml(source);
  Problems problems(source);
  Reader map(root, problems, "a record of errors");
  map.text("source", "");
  std::vector<RecordedError> out;
  if (map.require("errors"))
    for (const YAML::Node& item : map.node("errors")) {
      Reader entry(item, problems, "an error");
      RecordedError error;
      error.level = {entry.text("layers"), entry.text("links"), entry.text("framework")};
      error.strategy = entry.text("strategy");
      error.from = entry.number("from", 1, 1e9, 1.0);
      if (entry.has("below")) error.below = entry.number("below", 1, 1e9);
      error.runs = int(entry.number("runs", 1, 1e9));
      error.mean_accuracy = entry.number("mean-accuracy", 0, 1);
      error.low = entry.number("low", 0, 1);
      error.high = entry.number("high", 1, 1e6);
      entry.finish();
      out.push_back(std::move(error));
    }
  map.finish();
  problems.raise();
  return out;
}

std::string recorded_text(const std::vector<RecordedError>& errors, const std::string& origin) {
  std::string out = fmt::format(
      "# How far projections were from measured runs, by what they rest on: nine times in ten, measured / "
      "projected lay\n"
      "# within `low` and `high`. Written by `paradl validate --record`.\n"
      "source: {}\nerrors:\n",
      foreign::scalar(origin));
  for (const RecordedError& e : errors)
    out += fmt::format(
        "  - {{layers: {}, links: {}, framework: {}, strategy: {}, from: {:.0f}{}, runs: {}, mean-accuracy: "
        "{:.3f}, "
        "low: {:.3f}, high: {:.3f}}}\n",
        e.level.layers, e.level.links, e.level.framework, e.strategy, e.from,
        std::isfinite(e.below) ? fmt::format(", below: {:.0f}", e.below) : "", e.runs, e.mean_accuracy, e.low,
        e.high);
  return out;
}

const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus) {
  const auto found = std::ranges::find_if(errors, [&](const RecordedError& e) {
    return e.level == level && e.strategy == strategy && e.from <= gpus && gpus < e.below;
  });
  return found == errors.end() ? nullptr : &*found;
}

}  // namespace paradl
