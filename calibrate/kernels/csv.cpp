#include "calibrate/kernels/csv.hpp"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

const std::string& CsvRow::text(const std::string& column) const {
  const auto found = fields_.find(column);
  if (found == fields_.end()) throw EnvironmentError(fmt::format("{}: no column `{}`", place_, column));
  return found->second;
}

double CsvRow::number(const std::string& column) const {
  const std::string& word = text(column);
  double value = 0;
  const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc{} || stop != word.data() + word.size())
    throw EnvironmentError(fmt::format("{}: `{}` is no number of `{}`", place_, word, column));
  return value;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    throw EnvironmentError(fmt::format("cannot read {}", path), "name the folder that has the measurements");
  const std::vector<std::string> columns = csv_fields(line);
  std::vector<CsvRow> rows;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> fields = csv_fields(line);
    const std::string place = fmt::format("{}:{}", path, number);
    if (fields.size() != columns.size())
      throw EnvironmentError(fmt::format("{}: {} fields, not {}", place, fields.size(), columns.size()));
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = fields[i];
    rows.emplace_back(place, std::move(row));
  }
  return rows;
}

}  // namespace paradl::calibrate
