#include "paradl/spec/measured_runs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/csv.hpp"

namespace paradl {
namespace {

constexpr std::array<std::string_view, 7> required{"model", "system", "strategy",   "grid",
                                                   "gpus",  "batch",  "iteration_s"};
// How a run was trained: columns that correspond to the option of the same name.
constexpr std::array<std::string_view, 10> trained{
    "micro_batches",     "schedule", "optimizer", "precision", "recompute",
    "sequence_parallel", "zero",     "framework", "transport", "layer_times"};
// Terms of an iteration that may have been measured separately; their columns end in `_s`.
constexpr std::array<std::string_view, 11> terms{"forward",
                                                 "backward",
                                                 "update",
                                                 "recompute",
                                                 "bubble",
                                                 "gradient_exchange",
                                                 "activation_exchange",
                                                 "halo_exchange",
                                                 "stage_transfer",
                                                 "swap",
                                                 "io"};
constexpr std::array<std::string_view, 6> others{"compute_s",  "communication_s", "memory_bytes",
                                                 "left_out_s", "source",          "notes"};

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

/// A column's name in lower case with `_`: `Micro-batches` is micro_batches.
std::string column_name(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return c == '-' || c == ' ' ? '_' : char(std::tolower(c)); });
  return text;
}

bool known_term(std::string_view name) { return std::ranges::find(terms, name) != terms.end(); }
std::string column_of(std::string_view term) { return fmt::format("{}_s", term); }

constexpr double shortest = 1e-9, longest = 1e9;  // plausible times in seconds
constexpr double smallest = 1, largest = 1e15;    // plausible sizes in bytes

/// The cells of one line by column; records the mistakes in them.
class Cells {
 public:
  Cells(const std::vector<std::string>& header, const CsvLine& line, Problems& problems)
      : header_(header), line_(line), problems_(problems) {}

  std::string text(std::string_view column) const {
    const CsvCell* cell = find(column);
    return cell ? cell->text : "";
  }
  std::string needed(std::string_view column) const {
    const std::string word = text(column);
    if (word.empty()) wrong(column, fmt::format("`{}` is empty", column), "every run needs it");
    return word;
  }
  /// A number above zero; nothing if the cell is empty.
  std::optional<double> positive(std::string_view column, bool zero_too = false) const {
    const std::string word = text(column);
    if (word.empty()) return {};
    const auto value = number(word);
    if (!value) {
      wrong(column, fmt::format("cannot read `{}` as a number", word),
            "write a number without a unit, such as 0.225; the column's name gives the unit");
    } else if (*value < 0 || (*value == 0 && !zero_too)) {
      wrong(column, fmt::format("`{}` must be {}", column, zero_too ? "at least zero" : "more than zero"),
            "leave out runs that were not measured");
      return {};
    } else if (column.ends_with("_s") && *value != 0 && (*value < shortest || *value > longest)) {
      wrong(column, fmt::format("`{}` is {} s, which is not plausible", column, word),
            "write seconds, from 1e-9 to 1e9");
      return {};
    } else if (column.ends_with("_bytes") && (*value < smallest || *value > largest)) {
      wrong(column, fmt::format("`{}` is {} bytes, which is not plausible", column, word),
            "write bytes, from 1 to 1e15");
      return {};
    }
    return value;
  }
  void wrong(std::string_view column, const std::string& message, const std::string& help) const {
    const CsvCell* cell = find(column);
    problems_.add(cell ? cell->spot : Spot{.line = line_.number, .column = 1, .width = 1}, message, help);
  }
  std::map<std::string, Spot, std::less<>> spots() const {
    std::map<std::string, Spot, std::less<>> out;
    for (std::size_t i = 0; i < std::min(header_.size(), line_.cells.size()); ++i)
      out.emplace(header_[i], line_.cells[i].spot);
    return out;
  }

 private:
  const CsvCell* find(std::string_view column) const {
    const auto at = std::size_t(std::ranges::find(header_, column) - header_.begin());
    return at < std::min(header_.size(), line_.cells.size()) ? &line_.cells[at] : nullptr;
  }
  const std::vector<std::string>& header_;
  const CsvLine& line_;
  Problems& problems_;
};

/// Converts words as other programs write them: `FP16`, `True`, `64.0`.
std::string plain(std::string word, std::string_view column) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  if (const std::size_t dot = word.find('.'); dot != word.npos && dot > 0 &&
                                              word.find_first_not_of("0123456789") == dot &&
                                              word.find_first_not_of('0', dot + 1) == word.npos)
    word.resize(dot);
  const bool yes = word == "true" || word == "yes" || word == "1" || word == "on",
             no = word == "false" || word == "no" || word == "0" || word == "off";
  if (column == "sequence_parallel" && (yes || no)) return yes ? "on" : "off";
  if (column == "recompute" && (yes || no)) return yes ? "full" : "none";
  return word;
}

MeasuredRun read_run(const Cells& cells, int line) {
  MeasuredRun run{.line = line,
                  .model = cells.needed("model"),
                  .system = cells.needed("system"),
                  .strategy = plain(cells.needed("strategy"), "strategy"),
                  .grid = cells.text("grid"),
                  .batch = plain(cells.needed("batch"), "batch")};
  cells.needed("gpus");
  const double gpus = cells.positive("gpus").value_or(1);
  if (gpus != std::floor(gpus) || gpus > 1e7)
    cells.wrong("gpus", "`gpus` must be a whole number", "write digits alone, such as 64");
  run.gpus = int(std::min(gpus, 1e7));
  if (const auto time = cells.positive("iteration_s")) run.iteration = Seconds{*time};
  if (const auto time = cells.positive("compute_s", true)) run.compute = Seconds{*time};
  if (const auto time = cells.positive("communication_s", true)) run.communication = Seconds{*time};
  constexpr double rounding = 1.02;  // times read from figures have two or three digits
  const Seconds stated = run.compute.value_or(Seconds{}) + run.communication.value_or(Seconds{});
  if (run.iteration && stated > rounding * *run.iteration)
    cells.wrong(run.communication ? "communication_s" : "compute_s",
                run.compute && run.communication
                    ? "`compute_s` and `communication_s` are more than `iteration_s`"
                    : fmt::format("`{}` is more than `iteration_s`",
                                  run.communication ? "communication_s" : "compute_s"),
                "count only communication that does not overlap with computation");
  for (const std::string_view term : terms)
    if (const auto time = cells.positive(column_of(term), true))
      run.terms[std::string(term)] = Seconds{*time};
  Seconds parts = run.compute.value_or(Seconds{}) + run.communication.value_or(Seconds{});
  for (const auto& [term, time] : run.terms) parts += time;
  const bool whole = !cells.text("iteration_s").empty();
  if (!whole && !run.compute && !run.communication && run.terms.empty())
    cells.wrong("iteration_s", "`iteration_s` is empty",
                "every run needs it, or a term that was measured separately, such as gradient_exchange_s");
  else if (!whole && !(parts > Seconds{}))
    cells.wrong("iteration_s", "all times of this run are zero", "leave out runs that were not measured");
  if (const auto bytes = cells.positive("memory_bytes")) run.memory = Bytes{*bytes};
  if (const auto time = cells.positive("left_out_s")) run.left_out = Seconds{*time};
  for (const std::string_view column : trained)
    if (const std::string word = cells.text(column); !word.empty()) {
      std::string key(column);
      std::ranges::replace(key, '_', '-');
      run.options[key] = column == "framework" ? word : plain(word, column);  // a framework may be a path
    }
  run.source = cells.text("source");
  run.notes = cells.text("notes");
  run.cells = cells.spots();
  return run;
}

std::vector<std::string> header_of(const CsvLine& line, Problems& problems, MeasuredRuns& out) {
  std::vector<std::string> header;
  for (const CsvCell& cell : line.cells) {
    const std::string name = column_name(cell.text);
    if (std::ranges::find(header, name) != header.end())
      problems.add(cell.spot, fmt::format("two columns are called `{}`", name), "remove one of them");
    const auto known = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
    const bool term = name.ends_with("_s") && known_term(name.substr(0, name.size() - 2));
    if (!known(required) && !known(trained) && !known(others) && !term) out.ignored.push_back(cell.text);
    header.push_back(name);
  }
  std::vector<std::string> missing;
  for (const std::string_view column : required) {
    if (std::ranges::find(header, column) != header.end() || column == "grid") continue;
    const std::string near = did_you_mean(column, out.ignored);
    if (near.empty())
      missing.push_back(fmt::format("`{}`", column));
    else
      problems.add({line.number, 1, 1}, fmt::format("column `{}` is missing", column),
                   fmt::format("rename a column: {}", near));
  }
  if (!missing.empty())
    problems.add({line.number, 1, 1},
                 fmt::format("column{} missing", missing.size() == 1
                                                     ? fmt::format(" {} is", missing.front())
                                                     : fmt::format("s {} are", fmt::join(missing, ", "))),
                 fmt::format("name the columns in the first line: {}", fmt::join(required, ",")));
  return header;
}

}  // namespace

Spot MeasuredRun::spot(std::string_view column) const {
  const auto cell = cells.find(column);
  return cell == cells.end() ? Spot{.line = line, .column = 1, .width = 1} : cell->second;
}

MeasuredRuns read_measured_runs(SourceText source) {
  MeasuredRuns out{.source = std::move(source)};
  Problems columns(out.source), problems(out.source);
  const CsvFile file = read_csv(out.source.text, problems);
  const auto header = header_of(file.header, columns, out);
  columns.raise();
  for (const CsvLine& line : file.lines) {
    if (problems.full()) break;
    out.runs.push_back(read_run(Cells(header, line, problems), line.number));
  }
  if (out.runs.empty() && !problems.any())
    problems.add({.line = 1, .column = 1, .width = 1}, "the file has no runs",
                 "write one run per line, below the header");
  problems.raise();
  return out;
}

}  // namespace paradl
