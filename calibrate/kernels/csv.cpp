#include "calibrate/kernels/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace paradl::calibrate {
namespace {

[[noreturn]] void refuse(const SourceText& source, Spot spot, const std::string& message,
                         const std::string& help) {
  throw SpecError(source.file, source.text, {{spot, message, help}});
}

}  // namespace

const CsvCell& CsvRow::cell(const std::string& column) const {
  const auto found = cells_.find(column);
  if (found == cells_.end())
    refuse(*source_, {1, 1, 1}, fmt::format("column `{}` is missing", column),
           "the first line names the columns");
  return found->second;
}

const std::string& CsvRow::text(const std::string& column) const { return cell(column).text; }

double CsvRow::number(const std::string& column) const {
  const std::string& word = text(column);
  double value = 0;
  const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc{} || stop != word.data() + word.size() || !std::isfinite(value))
    refuse(*source_, cell(column).spot, fmt::format("`{}` is not a number", word),
           "write digits, such as 0.225");
  return value;
}

double CsvRow::positive(const std::string& column) const {
  const double value = number(column);
  if (!(value > 0))
    refuse(*source_, cell(column).spot, fmt::format("`{}` must be more than zero", column),
           "leave out what was not measured");
  return value;
}

std::vector<CsvRow> read_rows(const std::string& path) {
  const auto source = std::make_shared<const SourceText>(read_source(path));
  Problems problems(*source);
  const CsvFile file = read_csv(source->text, problems);
  problems.raise();
  const std::vector<CsvCell>& columns = file.header.cells;
  std::vector<CsvRow> rows;
  for (const CsvLine& line : file.lines) {
    if (line.cells.size() < columns.size())
      refuse(*source, {line.number, 1, 1},
             fmt::format("{} cells, but the first line names {} columns", line.cells.size(), columns.size()),
             "leave cells empty, but write their commas");
    std::map<std::string, CsvCell> row;
    for (std::size_t c = 0; c < columns.size(); ++c) row[columns[c].text] = line.cells[c];
    rows.emplace_back(source, std::move(row));
  }
  if (rows.empty())
    refuse(*source, {1, 1, 1}, "the table has no timings", "write one per line, below the first line");
  return rows;
}

}  // namespace paradl::calibrate
