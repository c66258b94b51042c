#include "paradl/spec/recorded_errors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/csv.hpp"

namespace paradl {
namespace {

enum class RecordColumn {
  layers,
  links,
  framework,
  device,
  precision,
  networks,
  fidelity,
  strategy,
  from,
  below,
  runs,
  mean_accuracy,
  left_out_accuracy,
  least,
  most,
  low,
  high
};
constexpr std::array<std::string_view, 17> record_columns{
    "layers",   "links", "framework", "device", "precision",     "networks",          "fidelity",
    "strategy", "from",  "below",     "runs",   "mean_accuracy", "left_out_accuracy", "least",
    "most",     "low",   "high"};
static_assert(names_every(RecordColumn::high, record_columns), "name every column");

constexpr std::string_view source_mark = "# source: ";

/// One line of a record; mistakes are added to `problems`, and the caller gets a fallback.
class RecordLine {
 public:
  RecordLine(const CsvLine& line, Problems& problems) : line_(line), problems_(problems) {}

  bool has(RecordColumn column) const { return !text(column).empty(); }
  const std::string& text(RecordColumn column) const { return cell(column).text; }
  Spot spot(RecordColumn column) const { return cell(column).spot; }
  const std::string& needed(RecordColumn column) const {
    if (!has(column)) wrong(column, fmt::format("`{}` is empty", name(column)), "every record needs it");
    return text(column);
  }
  template <class Enum, std::size_t N>
  Enum one_of(RecordColumn column, const std::array<std::string_view, N>& names) const {
    const std::string& word = needed(column);
    const auto found = find_name<Enum>(names, word);
    if (!word.empty() && !found)
      wrong(column, fmt::format("`{}` is not one of {}", word, fmt::join(names, ", ")),
            did_you_mean(word, {names.begin(), names.end()}));
    return found.value_or(Enum{});
  }
  /// NaN after a mistake: no comparison with it is a second one.
  double number(RecordColumn column, double least, double most) const {
    const std::string& word = needed(column);
    const char* const end = word.data() + word.size();
    double value = 0;
    const auto [stop, failed] = std::from_chars(word.data(), end, value);
    if (failed != std::errc{} || stop != end || !std::isfinite(value)) {
      if (!word.empty()) wrong(column, fmt::format("cannot read `{}` as a number", word), "write digits");
    } else if (value < least || value > most) {
      wrong(column, fmt::format("`{}` must be from {} to {}", name(column), least, most),
            value < least ? fmt::format("write {} or more", least) : fmt::format("write {} or less", most));
    } else {
      return value;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  void wrong(RecordColumn column, const std::string& message, const std::string& help) const {
    problems_.add(spot(column), message, help);
  }

 private:
  static std::string_view name(RecordColumn column) { return record_columns[std::size_t(column)]; }
  const CsvCell& cell(RecordColumn column) const { return line_.cells[std::size_t(column)]; }
  const CsvLine& line_;
  Problems& problems_;
};

ParameterLevel read_level(const RecordLine& cells) {
  using enum RecordColumn;
  return {.layers = cells.one_of<LayerSource>(layers, layer_source_names),
          .links = cells.one_of<LinkLevel>(links, link_level_names),
          .framework = cells.needed(framework),
          .device = cells.needed(device),
          .precision = cells.one_of<Precision>(precision, precision_names),
          .networks = cells.one_of<NetworkKind>(networks, network_kind_names),
          .fidelity = cells.one_of<Fidelity>(fidelity, fidelity_names)};
}

RecordedError read_error(const RecordLine& cells) {
  using enum RecordColumn;
  constexpr double most_gpus = 1e9;
  RecordedError error{.level = read_level(cells),
                      .strategy = cells.needed(strategy),
                      .from = cells.number(from, 1, most_gpus),
                      .mean_accuracy = cells.number(mean_accuracy, 0, 1),
                      .least = cells.number(least, 1 / most_times, most_times),
                      .most = cells.number(most, 1 / most_times, most_times),
                      .low = cells.number(low, 1 / most_times, 1),
                      .high = cells.number(high, 1, most_times),
                      .spot = cells.spot(strategy)};
  if (cells.has(below)) error.below = cells.number(below, 1, most_gpus);
  if (error.below <= error.from)
    cells.wrong(below, fmt::format("`below` is {}, and `from` is {}", error.below, error.from),
                "write a number above `from`");
  const double counted = cells.number(runs, 1, 1e9);
  if (counted > std::floor(counted))
    cells.wrong(runs, "`runs` must be a whole number", fmt::format("write {:.0f}", counted));
  error.runs = std::isnan(counted) ? 0 : int(counted);
  if (cells.has(left_out_accuracy)) error.left_out_accuracy = cells.number(left_out_accuracy, 0, 1);
  if (error.most < error.least)
    cells.wrong(most, fmt::format("`most` is {}, and `least` is {}", error.most, error.least),
                "write a number that is at least `least`");
  return error;
}

bool same_runs(const RecordedError& a, const RecordedError& b) {
  return a.from < b.below && b.from < a.below && a.strategy == b.strategy && a.level == b.level;
}

/// A file of another kind is one mistake, not one for each column.
void check_columns(const CsvLine& header, Problems& problems) {
  for (std::size_t i = 0; i < record_columns.size(); ++i) {
    const CsvCell* cell = i < header.cells.size() ? &header.cells[i] : nullptr;
    if (cell && cell->text == record_columns[i]) continue;
    problems.add(cell ? cell->spot : Spot{header.number, 1, 1},
                 fmt::format("column {} of a record must be `{}`", i + 1, record_columns[i]),
                 fmt::format("a record is a CSV file with the columns {}; `paradl validate RUNS.csv --record "
                             "FILE.csv` writes one",
                             fmt::join(record_columns, ",")));
    return;
  }
}

std::string line_of(const RecordedError& e) {
  return fmt::format(
      "{},{},{},{},{},{},{},{},{:.0f},{},{},{:.3f},{},{:.3f},{:.3f},{:.3f},{:.3f}\n",
      layer_source_names[std::size_t(e.level.layers)], link_level_names[std::size_t(e.level.links)],
      csv_text(e.level.framework), csv_text(e.level.device), precision_names[std::size_t(e.level.precision)],
      network_kind_names[std::size_t(e.level.networks)], fidelity_names[std::size_t(e.level.fidelity)],
      csv_text(e.strategy), e.from, std::isfinite(e.below) ? fmt::format("{:.0f}", e.below) : "", e.runs,
      e.mean_accuracy, e.left_out_accuracy ? fmt::format("{:.3f}", *e.left_out_accuracy) : "", e.least,
      e.most, e.low, e.high);
}

}  // namespace

bool is_record(std::string_view text) {
  const std::string first = fmt::format("{},{},", record_columns[0], record_columns[1]);
  return text.starts_with(first) || text.find('\n' + first) != text.npos;
}

RecordedErrors read_recorded_errors(const SourceText& source) {
  Problems first(source), problems(source);  // of the whole file, and of its lines
  if (const auto spot = not_text(source.text))
    first.add(*spot, "this is not text", "write UTF-8, without control characters");
  first.raise();
  const CsvFile file = read_csv(source.text, problems);
  check_columns(file.header, first);
  first.raise();
  RecordedErrors out;
  for (const std::string_view comment : file.comments)
    if (comment.starts_with(source_mark)) out.source.append(comment.substr(source_mark.size())) += '\n';
  out.errors.reserve(file.lines.size());
  for (const CsvLine& line : file.lines) {
    if (line.cells.size() < record_columns.size()) {
      problems.add(line.cells.back().spot,
                   fmt::format("{} cells, but the first line names {} columns", line.cells.size(),
                               record_columns.size()),
                   "leave cells empty, but write their commas");
      continue;
    }
    RecordedError error = read_error(RecordLine(line, problems));
    if (std::ranges::any_of(out.errors, [&](const RecordedError& e) { return same_runs(e, error); }))
      problems.add({line.number, 1, 1}, "the same runs are already recorded above", "remove one of them");
    out.errors.push_back(std::move(error));
  }
  problems.raise();
  return out;
}

std::string recorded_text(const RecordedErrors& recorded) {
  std::string out =
      "# The error of projections, by their inputs: measured / projected was between `least` and `most` in "
      "these runs,\n"
      "# and is expected between `low` and `high` in nine of ten cases. If there is a `left_out_accuracy`, "
      "`low` and `high`\n"
      "# come from projections with parameters that were fitted without runs like the projected one. Written "
      "by\n"
      "# `paradl validate --record` (scripts/record).\n";
  for (const std::string_view line : split(recorded.source, '\n'))
    if (!line.empty()) out += fmt::format("{}{}\n", source_mark, line);
  out += fmt::format("{}\n", fmt::join(record_columns, ","));
  for (const RecordedError& error : recorded.errors) out += line_of(error);
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
