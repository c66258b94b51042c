#include "paradl/report/table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {
namespace {

std::string number_text(Holds holds, double number) {
  if (!std::isfinite(number)) return fmt::format("{}", number);
  switch (holds) {
    case Holds::text:
    case Holds::shape:
    case Holds::count:
      return count(number);
    case Holds::share:
      return percent(number);
    case Holds::seconds:
      return text(Seconds{number});
    case Holds::bytes:
      return text(Bytes{number});
    case Holds::message:
      return decimal(Bytes{number});
    case Holds::bandwidth:
      return text(Bandwidth{number});
    case Holds::rate:
      return three_digits(number);
    case Holds::flops:
      return text(FlopRate{number});
    case Holds::joules:
      return joules(number);
  }
  return {};
}

std::string_view unit_suffix(Holds holds) {
  switch (holds) {
    case Holds::text:
    case Holds::shape:
    case Holds::count:
    case Holds::share:
      return "";
    case Holds::seconds:
      return "_s";
    case Holds::bytes:
    case Holds::message:
      return "_bytes";
    case Holds::bandwidth:
      return "_bytes_per_s";
    case Holds::rate:
      return "_per_s";
    case Holds::flops:
      return "_flops_per_s";
    case Holds::joules:
      return "_j";
  }
  return "";
}

bool says_nothing(const Value& value, Holds holds) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  if (const auto* number = std::get_if<double>(&value)) return holds == Holds::seconds && *number == 0;
  return true;
}

bool is_empty(const Table& table, std::size_t column) {
  const Holds holds = table.columns[column].holds;
  return std::ranges::all_of(table.rows,
                             [&](const Row& row) { return says_nothing(value_at(row, column), holds); });
}

/// "[1] [3]"
std::string note_marks(const Row& row) {
  std::string marks;
  for (const int note : row.notes) marks += fmt::format("{}[{}]", marks.empty() ? "" : " ", note);
  return marks;
}

PrintedColumn printed(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  PrintedColumn result{.name = column.title.empty() ? column.id : column.title,
                       .title = column.title,
                       .right_aligned = is_right_aligned(column.holds),
                       .importance = column.importance};
  for (const Row& row : table.rows) result.cells.push_back(cell_text(column, value_at(row, index)));
  return result;
}

std::string padded(const std::string& text, std::size_t width, bool right_aligned) {
  const std::string space(width - display_width(text), ' ');
  return right_aligned ? space + text : text + space;
}

}  // namespace

Table without_empty_columns(Table table, const std::vector<std::string_view>& keep) {
  if (table.rows.empty()) return table;
  Table result{.notes = table.notes};
  for (const Row& row : table.rows) result.rows.push_back({{}, row.emphasis, row.notes, row.mark});
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (is_empty(table, c) && std::ranges::find(keep, table.columns[c].id) == keep.end()) continue;
    result.columns.push_back(table.columns[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      result.rows[r].values.push_back(value_at(table.rows[r], c));
  }
  return result;
}

std::string machine_name(const Column& column) {
  return fmt::format("{}{}", column.id, unit_suffix(column.holds));
}

std::string cell_text(const Column& column, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return number_text(column.holds, *number);
  return "-";
}

std::string mark_of(const Row& row) {
  if (!row.mark.empty()) return row.mark;
  return row.emphasis == Emphasis::infeasible ? "x" : "";
}

bool has_marks(const Table& table) {
  return std::ranges::any_of(table.rows, [](const Row& row) { return !mark_of(row).empty(); });
}

bool has_notes(const Table& table) {
  return std::ranges::any_of(table.rows, [](const Row& row) { return !row.notes.empty(); });
}

const Value& value_at(const Row& row, std::size_t column) {
  static const Value does_not_apply;
  return column < row.values.size() ? row.values[column] : does_not_apply;
}

bool is_right_aligned(Holds holds) { return holds != Holds::text; }

std::vector<PrintedColumn> printed_columns(const Table& table) {
  std::vector<PrintedColumn> result;
  if (has_marks(table)) {
    result.push_back({.right_aligned = true, .importance = always_shown});
    for (const Row& row : table.rows) result.back().cells.push_back(mark_of(row));
  }
  for (std::size_t c = 0; c < table.columns.size(); ++c) result.push_back(printed(table, c));
  if (has_notes(table)) {
    result.push_back({.importance = always_shown});
    for (const Row& row : table.rows) result.back().cells.push_back(note_marks(row));
  }
  return result;
}

std::size_t width_of(const PrintedColumn& column) {
  std::size_t width = display_width(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

std::vector<std::string> joined_lines(const std::vector<PrintedColumn>& columns, std::string_view separator) {
  std::vector<std::string> lines(columns.empty() ? 1 : columns.front().cells.size() + 1);
  for (const PrintedColumn& column : columns) {
    const std::size_t width = width_of(column);
    const bool first = &column == &columns.front();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!first) lines[i] += separator;
      lines[i] += padded(i == 0 ? column.title : column.cells[i - 1], width, column.right_aligned);
    }
  }
  return lines;
}

}  // namespace paradl
