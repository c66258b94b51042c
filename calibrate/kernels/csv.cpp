#include "calibrate/kernels/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl::calibrate {
namespace {

std::vector<CsvRow::Field> fields_of(std::string_view line) {
  std::vector<CsvRow::Field> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    CsvRow::Field& field = out.back();
    field.width = std::max(1, int(i) + 2 - field.column);
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      field.text += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      field.width = std::max(1, field.width - 1), out.push_back({.text = {}, .column = int(i) + 2});
    else if (c != '\r')
      field.text += c;
  }
  return out;
}

[[noreturn]] void refuse(const SourceText& source, Spot spot, const std::string& message,
                         const std::string& help) {
  throw SpecError(source.file, source.text, {{spot, message, help}});
}

}  // namespace

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> out;
  for (CsvRow::Field& field : fields_of(line)) out.push_back(std::move(field.text));
  return out;
}

const CsvRow::Field& CsvRow::field(const std::string& column) const {
  const auto found = fields_.find(column);
  if (found == fields_.end())
    refuse(*source_, {1, 1, 1}, fmt::format("column `{}` is missing", column),
           "the first line names the columns");
  return found->second;
}

const std::string& CsvRow::text(const std::string& column) const { return field(column).text; }

double CsvRow::number(const std::string& column) const {
  const auto& [word, at, width] = field(column);
  double value = 0;
  const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc{} || stop != word.data() + word.size() || !std::isfinite(value))
    refuse(*source_, {line_, at, width}, fmt::format("`{}` is not a number", word),
           "write digits, such as 0.225");
  return value;
}

double CsvRow::positive(const std::string& column) const {
  const double value = number(column);
  if (!(value > 0))
    refuse(*source_, {line_, field(column).column, field(column).width},
           fmt::format("`{}` must be more than zero", column), "leave out what was not measured");
  return value;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  const auto source = std::make_shared<const SourceText>(read_source(path));
  const auto lines = split(source->text, '\n');
  const std::vector<CsvRow::Field> columns = fields_of(lines.front());
  std::vector<CsvRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i] == "\r") continue;
    const std::vector<CsvRow::Field> fields = fields_of(lines[i]);
    const int number = int(i) + 1;
    if (fields.size() != columns.size())
      refuse(*source, {number, 1, 1},
             fmt::format("{} cells, but the first line names {} columns", fields.size(), columns.size()),
             "put quotes around a text with commas");
    std::map<std::string, CsvRow::Field> row;
    for (std::size_t f = 0; f < columns.size(); ++f) row[columns[f].text] = fields[f];
    rows.emplace_back(source, number, std::move(row));
  }
  if (rows.empty())
    refuse(*source, {1, 1, 1}, "the table has no timings", "write one per line, below the first line");
  return rows;
}

}  // namespace paradl::calibrate
