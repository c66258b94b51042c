#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "paradl/spec/csv.hpp"

namespace paradl::calibrate {

/// One row of a table, with access by column name.
class CsvRow {
 public:
  CsvRow(std::shared_ptr<const SourceText> source, std::map<std::string, CsvCell> cells)
      : source_(std::move(source)), cells_(std::move(cells)) {}

  /// SpecError if the column does not exist, or does not have a number.
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  /// A number above zero. SpecError.
  double positive(const std::string& column) const;
  bool has(const std::string& column) const { return !text(column).empty(); }

 private:
  const CsvCell& cell(const std::string& column) const;
  std::shared_ptr<const SourceText> source_;
  std::map<std::string, CsvCell> cells_;
};

/// A table with a header. UsageError if the file does not exist, SpecError if it is not a table.
std::vector<CsvRow> read_rows(const std::string& path);

}  // namespace paradl::calibrate
