#include "paradl/spec/csv.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// What a quoted cell contains; `at` moves from its first quote to behind its last.
std::string unquoted(std::string_view line, std::size_t& at, bool& open) {
  std::string out;
  open = true;
  for (++at; open && at < line.size(); ++at) {
    if (line[at] != '"')
      out += line[at];
    else if (line.substr(at + 1).starts_with('"'))
      out += line[at++];
    else
      open = false;
  }
  return out;
}

}  // namespace

std::vector<CsvCell> csv_cells(std::string_view line, int number) {
  std::vector<CsvCell> out;
  out.reserve(1 + std::size_t(std::ranges::count(line, ',')));
  for (std::size_t at = 0;;) {
    CsvCell& cell = out.emplace_back(CsvCell{.text = {}, .spot = {number, int(at) + 1, 1}});
    if (line.substr(at).starts_with('"')) cell.text = unquoted(line, at, cell.open);
    const std::size_t end = std::min(line.find(',', at), line.size());
    cell.text += trimmed(line.substr(at, end - at));
    cell.spot.width = std::max(1, int(end) - cell.spot.column + 1);
    if (end == line.size()) return out;
    at = end + 1;
  }
}

CsvFile read_csv(std::string_view text, Problems& problems) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // spreadsheets write a BOM
  CsvFile out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) out.comments.push_back(line);
    if (line.empty() || line.starts_with('#')) continue;
    CsvLine read{.number = number, .cells = csv_cells(line, number)};
    const std::size_t columns = out.header.cells.size();
    if (const CsvCell& last = read.cells.back(); last.open) {
      problems.add({number, last.spot.column, 1}, "the closing quote is missing",
                   "write another `\"` after the text, on the same line");
      if (columns > 0) continue;
    }
    if (columns > 0 && read.cells.size() > columns)
      problems.add({number, read.cells[columns].spot.column, 1},
                   fmt::format("{} cells, but the first line names {} columns", read.cells.size(), columns),
                   "put quotes around a text with commas");
    if (columns == 0)
      out.header = std::move(read);
    else
      out.lines.push_back(std::move(read));
  }
  return out;
}

std::string csv_text(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == cell.npos && trimmed(cell) == cell) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace paradl
