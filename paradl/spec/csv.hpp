#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl {

struct CsvCell {
  std::string text;  // without its quotes, or without the spaces around it
  Spot spot;
  bool open = false;  // the closing quote is missing
};

struct CsvLine {
  int number = 1;
  std::vector<CsvCell> cells;
};

struct CsvFile {
  CsvLine header;
  std::vector<CsvLine> lines;
  std::vector<std::string_view> comments;  // lines that begin with `#`
};

/// The cells of one line as RFC 4180 has them: quoted cells may contain commas and doubled quotes.
std::vector<CsvCell> csv_cells(std::string_view line, int number);

/// A file whose first line names its columns. Empty lines are skipped, and lines with a missing quote, which
/// is a mistake, as are more cells than columns.
CsvFile read_csv(std::string_view text, Problems& problems);

/// A cell as it is written: in quotes where it needs them.
std::string csv_text(const std::string& cell);

}  // namespace paradl
