#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl::calibrate {

/// One row of a table, with access by column name.
class CsvRow {
 public:
  struct Field {
    std::string text;
    int column = 1, width = 1;  // its position in the line
  };
  CsvRow(std::shared_ptr<const SourceText> source, int line, std::map<std::string, Field> fields)
      : source_(std::move(source)), line_(line), fields_(std::move(fields)) {}

  /// SpecError if the column does not exist, or does not have a number.
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  /// A number above zero. SpecError.
  double positive(const std::string& column) const;
  bool has(const std::string& column) const { return !text(column).empty(); }

 private:
  const Field& field(const std::string& column) const;
  std::shared_ptr<const SourceText> source_;
  int line_;
  std::map<std::string, Field> fields_;
};

/// The fields of one line; those in quotes may hold commas, and doubled quotes.
std::vector<std::string> csv_fields(std::string_view line);

/// A table with a header; fields may be quoted. UsageError if the file does not exist, SpecError if it is not
/// a table.
std::vector<CsvRow> read_csv(const std::string& path);

}  // namespace paradl::calibrate
