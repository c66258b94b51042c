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

/// Reads the name of an enumerator; the first one after an error.
template <class Enum, std::size_t N>
Enum one_of(Reader& map, const std::string& key, const std::array<std::string_view, N>& names) {
  const std::string word = map.text(key);
  const auto found = find_name<Enum>(names, word);
  if (!word.empty() && !found)
    map.wrong(key, fmt::format("`{}` is not one of {}", word, fmt::join(names, ", ")),
              did_you_mean(word, {names.begin(), names.end()}));
  return found.value_or(Enum{});
}

bool same_runs(const RecordedError& a, const RecordedError& b) {
  return a.strategy == b.strategy && a.from < b.below && b.from < a.below && a.level == b.level;
}

ParameterLevel read_level(Reader& map) {
  return {.layers = one_of<LayerSource>(map, "layers", layer_source_names),
          .links = one_of<LinkLevel>(map, "links", link_level_names),
          .framework = map.text("framework"),
          .device = map.text("device"),
          .precision = one_of<Precision>(map, "precision", precision_names),
          .networks = one_of<NetworkKind>(map, "networks", network_kind_names),
          .fidelity = map.has("fidelity") ? one_of<Fidelity>(map, "fidelity", fidelity_names)
                                          : Fidelity::detailed};
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
          layer_source_names[std::size_t(e.level.layers)], link_level_names[std::size_t(e.level.links)],
          e.level.framework, foreign::scalar(e.level.device),
          precision_names[std::size_t(e.level.precision)],
          network_kind_names[std::size_t(e.level.networks)],
          e.level.fidelity == Fidelity::detailed
              ? ""
              : fmt::format("    fidelity: {}\n", fidelity_names[std::size_t(e.level.fidelity)]));
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

}  // namespace paradl
