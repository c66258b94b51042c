#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paradl::calibrate {

/// One row of a table by the names of its columns.
class CsvRow {
 public:
  CsvRow(std::string place, std::map<std::string, std::string> fields)
      : place_(std::move(place)), fields_(std::move(fields)) {}

  /// EnvironmentError where there is no such column, or where it has no number.
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  bool has(const std::string& column) const { return !text(column).empty(); }

 private:
  std::string place_;  // file and line
  std::map<std::string, std::string> fields_;
};

/// The fields of one line; those in quotes may hold commas, and doubled quotes.
std::vector<std::string> csv_fields(std::string_view line);

/// A table with a header; fields may be quoted. EnvironmentError if it cannot be read.
std::vector<CsvRow> read_csv(const std::string& path);

}  // namespace paradl::calibrate
