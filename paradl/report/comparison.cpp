#include "paradl/report/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/cost/cost.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

/// A number at a path, or nothing.
std::optional<double> number(const Json& result, std::string_view path) {
  const Json* value = find_json(result, path);
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

/// A text at a path, or nothing.
std::string word(const Json& result, std::string_view path) {
  const Json* value = find_json(result, path);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

/// A field of a result as tables show it.
std::optional<double> number(const Json& result, const ResultField& field) {
  const auto value = number(result, field.json);
  if (!value || !field.per_iteration) return value;
  const auto iterations = number(result, "iterations_per_epoch");
  return iterations ? std::optional(*value * *iterations) : std::nullopt;
}

/// Whether all costs agree in this key: prices in different currencies, or of different numbers of epochs,
/// are not compared.
bool alike(const std::vector<Contestant>& sides, std::string_view path) {
  const auto value = [&](const Contestant& side) {
    const Json* found = find_json(side.result, path);
    return found ? *found : Json();
  };
  return std::ranges::all_of(sides, [&](const Contestant& s) { return value(s) == value(sides.front()); });
}

/// One quantity of all sides.
struct Line {
  const ResultField* field;
  std::string title;
  std::vector<std::optional<double>> values;
};

/// Whether it has a time: a grid that breaks a limit has none.
bool priced(const Json& result) { return number(result, "time_s.epoch").has_value(); }

std::string signed_text(const Line& line, double before, double after) {
  double change = after - before;
  if (std::abs(change) < 1e-9 * std::max(std::abs(before), std::abs(after))) change = 0;  // rounding
  const char* sign = change > 0 ? "+ " : change < 0 ? "- " : "";
  return sign + cell_text(line.field->column, Value{std::abs(change)});
}

std::vector<Line> lines_of(const std::vector<Contestant>& sides) {
  std::vector<Line> lines;
  const auto line_of = [&](std::string_view id, std::string_view title) {
    Line line{find_result_field(id), std::string(title), {}};
    for (const Contestant& side : sides) line.values.push_back(number(side.result, *line.field));
    return line;
  };
  const auto add = [&](std::string_view id, std::string_view title) {
    Line line = line_of(id, title);
    if (std::ranges::any_of(line.values, [](const auto& value) { return value.has_value(); }))
      lines.push_back(std::move(line));
  };
  add("gpus", "GPUs");
  add("epoch", "epoch");
  for (const TermName& term : term_names) add(term.json, fmt::format("  {}", term.column));
  add("iteration", "iteration");
  add("congested_typical", "epoch with other jobs");
  add("congested_low", "  lowest");
  add("congested_high", "  highest");
  add("network_energy", "network energy");
  if (alike(sides, "cost.epochs")) {
    add("gpu_hours", "GPU-hours");
    if (alike(sides, "cost.currency")) add("price", "price");
    // Only parts that are known for all: one file may have the power of hosts, and another may not.
    for (Line line : {line_of("energy_gpus", "energy of GPUs"), line_of("energy_hosts", "  of hosts")})
      if (std::ranges::all_of(line.values, [](const auto& value) { return value.has_value(); }))
        lines.push_back(std::move(line));
  }
  add("samples", "samples/s");
  add("efficiency", "efficiency");
  add("memory", "memory");
  for (const MemoryName& part : memory_names) {
    Line line = line_of(part.name, fmt::format("  {}", part.name));
    if (std::ranges::any_of(line.values, [](const auto& value) { return value.value_or(0) > 0; }))
      lines.push_back(std::move(line));
  }
  return lines;
}

std::string text_of(const Json& value) {
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "16x4", in the order of the strategy.
std::string grid_of(const Json& result) {
  std::string out;
  if (result.contains("grid") && result["grid"].is_object())
    for (const auto& [axis, parts] : result["grid"].items())
      out += fmt::format("{}{}", out.empty() ? "" : "x", text_of(parts));
  return out;
}

/// The rows of words above the rows of numbers.
struct WordLine {
  std::string id;
  std::string (*get)(const Json&);
};
constexpr auto strategy_of = [](const Json& r) { return word(r, "strategy"); };
const std::array<WordLine, 2> word_lines{WordLine{"strategy", strategy_of}, WordLine{"grid", grid_of}};

/// "data on 64 GPUs", or "data+spatial 16x4 (2x2) on 64 GPUs".
std::string question_of(const Json& result, bool with_grid) {
  std::string out = word(result, "strategy");
  if (with_grid) {
    out += " " + grid_of(result);
    if (const Json* cut = find_json(result, "cut"); cut && cut->is_array()) {
      std::vector<std::string> parts;
      for (const Json& n : *cut) parts.push_back(text_of(n));
      out += fmt::format(" ({})", fmt::join(parts, "x"));
    }
  }
  return fmt::format("{} on {} GPUs", out, text_of(result["gpus"]));
}

/// Whether strategy and number of GPUs do not distinguish all results of a file.
bool repeats_questions(const std::vector<Contestant>& results) {
  std::set<std::string> seen;
  return std::ranges::any_of(
      results, [&](const Contestant& c) { return !seen.insert(question_of(c.result, false)).second; });
}

std::vector<Contestant> sides_of(const std::vector<Comparison>& all) {
  std::vector<Contestant> out;
  for (const auto& [question, sides] : all)
    for (const Contestant& side : sides) {
      out.push_back(side);
      if (!question.empty()) out.back().name += ": " + question;
    }
  return out;
}

/// Why a result does not fit, from its limits.
std::string reasons_of(const Json& result) {
  std::string out;
  if (!result.contains("limits") || !result["limits"].is_array()) return out;
  for (const Json& limit : result["limits"]) {
    if (!limit.is_object() || limit.value("holds", Json(true)) != Json(false)) continue;
    const std::string rule = word(limit, "rule");
    const auto value = number(limit, "value"), bound = number(limit, "bound");
    if (rule.empty() || !value || !bound) continue;
    const std::string stated = word(limit, "reason");
    out += (out.empty() ? "" : "; ") +
           (stated.empty() ? reason(rule, *value, *bound, word(limit, "layer")) : stated);
  }
  return out;
}

/// The place of byte `at`.
Spot spot_at(const std::string& text, std::size_t at) {
  Spot spot{1, 1, 1};
  for (std::size_t i = 0; i < std::min(at, text.size()); ++i)
    spot = text[i] == '\n' ? Spot{spot.line + 1, 1, 1} : Spot{spot.line, spot.column + 1, 1};
  return spot;
}

Json parse_answer(const SourceText& source, Problems& problems) {
  Json root;
  try {
    root = Json::parse(source.text);
  } catch (const Json::parse_error& error) {
    problems.add(spot_at(source.text, error.byte > 0 ? error.byte - 1 : 0), "this is not JSON",
                 "write the file again with `paradl project ... -o FILE.json`");
    problems.raise();
  }
  const std::string schema = word(root, "schema");
  if (schema != "paradl.projection/1")
    problems.add({1, 1, 1},
                 schema.empty() ? "this is not a saved answer of paradl"
                                : fmt::format("answers of schema `{}` cannot be compared", schema),
                 "write one with `paradl project ... -o FILE.json`");
  else if (!root.contains("results") || !root["results"].is_array() || root["results"].empty())
    problems.add({1, 1, 1}, "this answer has no results", "");
  problems.raise();
  return root;
}

/// Whether there is a number that no projection can have: below zero, or implausibly large.
bool has_odd_number(const Json& value) {
  if (value.is_number()) {
    const double number = value.get<double>();
    return !(number >= 0 && number < 1e60);
  }
  return (value.is_object() || value.is_array()) && std::ranges::any_of(value, has_odd_number);
}

/// Checks the fields that every result has, and those that a feasible one has in addition.
void check_result(const Json& result, const std::string& place, Problems& problems) {
  const auto demand = [&](bool good, const char* what) {
    if (!good) problems.add({1, 1, 1}, fmt::format("{}{}", place, what), "write the file again");
  };
  demand(!has_odd_number(result), " has a number that is negative or implausibly large");
  demand(!word(result, "strategy").empty(), ".strategy is not a name");
  demand(number(result, "gpus").value_or(0) >= 1, ".gpus is not a number of GPUs");
  const bool known = result.is_object() && result.contains("feasible") && result["feasible"].is_boolean();
  demand(known, ".feasible is neither true nor false");
  if (!known || !result["feasible"].get<bool>()) return;
  demand(number(result, "time_s.epoch").value_or(0) > 0, ".time_s.epoch is not a time");
  demand(number(result, "samples_per_s").value_or(0) > 0, ".samples_per_s is not a rate");
}

/// The checksums of an answer's files by kind, and the changes that were typed: what names do not show.
Json made_of(const Json& root) {
  Json out = Json::object();
  if (root.contains("inputs") && root["inputs"].is_array())
    for (const Json& input : root["inputs"])
      if (const std::string kind = word(input, "kind"); !kind.empty())
        out[kind] = out.value(kind, "") + word(input, "sha256");
  const Json* command = find_json(root, "command");
  if (!command || !command->is_array()) return out;
  std::string changes;
  for (std::size_t i = 0; i < command->size(); ++i) {
    const std::string text = text_of((*command)[i]);
    constexpr std::string_view option = "--set";
    const bool joined = text.starts_with("--set=");
    if (!joined && (text != option || i + 1 == command->size())) continue;
    changes +=
        (changes.empty() ? "" : " ") + (joined ? text.substr(option.size() + 1) : text_of((*command)[++i]));
  }
  if (!changes.empty()) out["--set"] = changes;
  return out;
}

/// What differs although its name does not: "system abci: files with different contents (old, new)".
std::vector<std::string> hidden_differences(const std::vector<Contestant>& sides) {
  std::vector<std::string> out, names;
  for (const Contestant& side : sides) names.push_back(side.name);
  const auto same = [&](const char* key) {
    return std::ranges::all_of(sides, [&](const Contestant& side) {
      return side.made_of.value(key, "") == sides.front().made_of.value(key, "");
    });
  };
  for (const char* kind : {"model", "system", "profile", "kernels"})
    if (!same(kind) && alike(sides, "model") && alike(sides, "system") &&
        std::ranges::all_of(sides, [&](const Contestant& side) { return side.made_of.contains(kind); })) {
      const std::string name = word(sides.front().result, kind);
      out.push_back(fmt::format("{}{}: files with different contents ({})", kind,
                                name.empty() ? "" : " " + name, fmt::join(names, ", ")));
    }
  if (same("--set")) return out;
  std::vector<std::string> values;
  for (const Contestant& side : sides)
    values.push_back(fmt::format("{} ({})", side.made_of.value("--set", "none"), side.name));
  out.push_back(fmt::format("--set: {}", fmt::join(values, ", ")));
  return out;
}

/// A row for each quantity of one comparison.
void add_rows(Table& table, const std::vector<Contestant>& sides) {
  for (const WordLine& line : word_lines) {
    Row row;
    row.values.emplace_back(line.id);
    for (const Contestant& side : sides) row.values.emplace_back(line.get(side.result));
    if (sides.size() == 2) row.values.emplace_back(std::string());
    table.rows.push_back(std::move(row));
  }
  for (const Line& line : lines_of(sides)) {
    Row row;
    row.values.emplace_back(line.title);
    for (const auto& value : line.values)
      row.values.emplace_back(value ? Value{cell_text(line.field->column, Value{*value})} : Value{});
    // A term that is not listed is zero, unless that side has no times.
    if (sides.size() == 2 && priced(sides[0].result) && priced(sides[1].result))
      row.values.emplace_back(signed_text(line, line.values[0].value_or(0), line.values[1].value_or(0)));
    table.rows.push_back(std::move(row));
  }
}

/// Each line begins with `before`.
std::string verdict_on(const std::vector<Contestant>& sides, const std::string& before) {
  struct Speed {
    std::string name;
    double rate;
  };
  std::vector<Speed> speeds;
  std::string out;
  for (const Contestant& side : sides) {
    const Json& result = side.result;
    const auto rate = number(result, "samples_per_s");
    if (side.feasible && rate) speeds.push_back({side.name, *rate});
    if (side.feasible) continue;
    const std::string why = reasons_of(result);
    out += before + fmt::format("{} does not fit{}{}.\n", side.name, why.empty() ? "" : ": ", why);
  }
  if (speeds.size() < 2) return out;  // the time of a plan that does not fit is not compared
  std::ranges::stable_sort(speeds, std::greater{}, &Speed::rate);
  for (std::size_t i = 1; i < speeds.size(); ++i) {
    const double ratio = speeds[0].rate / speeds[i].rate;
    out += before;
    out += ratio < 1.005 ? fmt::format("{} and {} are equally fast.\n", speeds[0].name, speeds[i].name)
                         : fmt::format("{} is {} times as fast as {}.\n", speeds[0].name, three_digits(ratio),
                                       speeds[i].name);
  }
  return out;
}

}  // namespace

Contestant contestant(const std::string& name, const Result& result) {
  return {name, result_json(result), result.projection().feasible()};
}

std::vector<Contestant> read_results(const SourceText& source) {
  Problems problems(source);
  const Json root = parse_answer(source, problems);
  const std::string stem = std::filesystem::path(source.file).stem().string();
  const Json files = made_of(root);
  std::vector<Contestant> out;
  for (const Json& result : root["results"]) {
    check_result(result, fmt::format("results[{}]", out.size()), problems);
    out.push_back({stem, result, !problems.any() && result["feasible"].get<bool>(), files});
  }
  problems.raise();
  return out;
}

SavedComparison compare_saved(const std::vector<std::vector<Contestant>>& files) {
  SavedComparison out;
  const auto single = [](const auto& results) { return results.size() == 1; };
  if (std::ranges::all_of(files, single)) {
    out.comparisons.emplace_back();
    for (const auto& results : files) out.comparisons.back().sides.push_back(results.front());
    return out;
  }
  const bool by_grid = std::ranges::any_of(files, repeats_questions);
  std::vector<std::string> order;
  std::map<std::string, std::vector<Contestant>> answers;
  for (const auto& results : files)
    for (const Contestant& side : results) {
      const std::string question = question_of(side.result, by_grid);
      auto& sides = answers[question];
      if (sides.empty()) order.push_back(question);
      if (sides.empty() || sides.back().name != side.name) sides.push_back(side);
    }
  for (const std::string& question : order) {
    const auto& sides = answers[question];
    if (sides.size() == files.size()) {
      out.comparisons.push_back({question, sides});
      continue;
    }
    std::vector<std::string> names;
    for (const Contestant& side : sides) names.push_back(side.name);
    out.left_out.push_back(fmt::format("{} (only in {})", question, fmt::join(names, ", ")));
  }
  if (out.comparisons.empty())
    throw UsageError("these files have no strategy and number of GPUs in common",
                     "write them with the same -s and -p");
  return out;
}

std::vector<std::string> differences(const std::vector<Comparison>& all) {
  struct Asked {
    const char *name, *path;
  };
  constexpr std::array asked{Asked{"model", "model"},
                             Asked{"system", "system"},
                             Asked{"mini-batch", "batch.global"},
                             Asked{"iterations per epoch", "iterations_per_epoch"},
                             Asked{"framework", "parameters.framework"},
                             Asked{"fidelity", "parameters.fidelity"},
                             Asked{"precision", "parameters.precision"},
                             Asked{"optimizer", "parameters.optimizer"},
                             Asked{"micro-batches", "micro_batches"},
                             Asked{"schedule", "schedule"},
                             Asked{"allreduce", "parameters.allreduce"},
                             Asked{"layer times", "parameters.layers"},
                             Asked{"links", "parameters.links"}};
  std::vector<std::string> out;
  for (const auto& [name, path] : asked) {
    std::vector<std::string> each;  // mini-batches may grow with the GPUs
    for (const auto& [question, sides] : all) {
      // Another mini-batch has another number of iterations.
      const bool follows = path == std::string_view("iterations_per_epoch") && !alike(sides, "batch.global");
      if (alike(sides, path) || follows) continue;
      std::vector<std::string> values;
      for (const Contestant& side : sides) {
        const Json* value = find_json(side.result, path);
        values.push_back(fmt::format("{} ({})", value ? text_of(*value) : "none", side.name));
      }
      const std::string text = fmt::format("{}", fmt::join(values, ", "));
      if (std::ranges::find(each, text) == each.end()) each.push_back(text);
    }
    if (!each.empty())
      out.push_back(fmt::format("{}: {}{}", name, each.front(), each.size() > 1 ? " and others" : ""));
  }
  if (!all.empty())
    for (std::string& one : hidden_differences(all.front().sides)) out.push_back(std::move(one));
  return out;
}

Table comparison_table(const std::vector<Comparison>& all) {
  Table table{.columns = {{"quantity", "", Holds::text, 10}}};
  const std::vector<Contestant>& names = all.front().sides;
  for (const Contestant& side : names) table.columns.push_back({side.name, side.name, Holds::shape, 9});
  if (names.size() == 2) table.columns.push_back({"change", "change", Holds::shape, 8});
  for (const auto& [question, sides] : all) {
    if (!question.empty()) {
      table.rows.emplace_back().values.assign(table.columns.size(), std::string());
      table.rows.back().values.front() = question;
    }
    add_rows(table, sides);
  }
  return table;
}

Table comparison_rows(const std::vector<Comparison>& all) {
  const std::vector<Contestant> sides = sides_of(all);
  Table table{.columns = {{"name", "name", Holds::text, 10}}};
  for (const Contestant& side : sides) table.rows.emplace_back().values.emplace_back(side.name);
  for (const WordLine& line : word_lines) {
    table.columns.push_back({line.id, line.id, Holds::text, 5});
    for (std::size_t i = 0; i < sides.size(); ++i)
      table.rows[i].values.emplace_back(line.get(sides[i].result));
  }
  for (const Line& line : lines_of(sides)) {
    table.columns.push_back({line.field->column.id, line.title, line.field->column.holds, 5});
    for (std::size_t i = 0; i < sides.size(); ++i)
      if (line.values[i])
        table.rows[i].values.emplace_back(*line.values[i]);
      else
        table.rows[i].values.emplace_back();
  }
  return table;
}

std::string verdict(const std::vector<Comparison>& all) {
  std::string out;
  for (const auto& [question, sides] : all) out += verdict_on(sides, question.empty() ? "" : question + ": ");
  return out;
}

std::string basis(const std::vector<Comparison>& all) {
  const std::vector<Contestant> sides = sides_of(all);
  std::vector<std::string> times, sums, unknown;
  constexpr std::array sources{"measured", "measured only for single messages", "specified"};
  std::array<std::vector<std::string>, sources.size()> linked;
  const auto add = [](std::vector<std::string>& list, const std::string& item) {
    if (!item.empty() && std::ranges::find(list, item) == list.end()) list.push_back(item);
  };
  const auto add_links = [&](const std::string& source, const std::string& item) {
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (source == sources[i]) add(linked[i], item);
  };
  for (const Contestant& side : sides) {
    const Json& result = side.result;
    add(times, word(result, "parameters.layers"));
    const std::string system = word(result, "system");
    if (const Json* levels = find_json(result, "parameters.links_by_level"); levels && levels->is_object())
      for (const auto& [level, source] : levels->items())
        add_links(text_of(source), fmt::format("{} of {}", level, system));
    else
      add_links(word(result, "parameters.links") == "measured" ? "measured" : "specified", system);
    if (const std::string sum = word(result, "parameters.allreduce"); !sum.empty())
      add(sums, fmt::format("{} ({})", sum, word(result, "parameters.allreduce_fidelity")));
    add(unknown, word(result, "input.unknown"));
  }
  if (times.empty()) return {};
  std::vector<std::string> links;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!linked[i].empty()) links.push_back(fmt::format("{} ({})", sources[i], fmt::join(linked[i], ", ")));
  const auto listed = [](const char* title, const std::vector<std::string>& list) {
    return list.empty() ? "" : fmt::format(" {}: {}.", title, fmt::join(list, ", "));
  };
  return fmt::format("Layer times: {}. Links: {}.{}{}\n", fmt::join(times, ", "), fmt::join(links, ", "),
                     listed("Allreduce", sums), listed("Input unknown", unknown));
}

Json comparison_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                     const std::vector<Comparison>& all) {
  Json results = Json::array();
  for (const Contestant& side : sides_of(all)) {
    results.push_back(side.result);
    results.back()["name"] = side.name;
  }
  return answer_json(command, inputs, std::move(results));
}

}  // namespace paradl
