#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {
namespace {

constexpr std::string_view indent = " ";
constexpr std::string_view gap = "  ";

void make_ascii(std::vector<PrintedColumn>& columns) {
  for (PrintedColumn& column : columns) {
    column.name = ascii(column.name);
    column.title = ascii(column.title);
    for (std::string& cell : column.cells) cell = ascii(cell);
  }
}

/// Columns that may be dropped, least important first.
std::vector<std::size_t> leaving_order(const std::vector<PrintedColumn>& columns) {
  std::vector<std::size_t> order;
  for (std::size_t c = columns.size(); c-- > 0;)
    if (columns[c].importance < always_shown) order.push_back(c);
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return columns[c].importance; });
  if (!order.empty()) order.pop_back();  // the most important column is never dropped
  return order;
}

/// Drops columns until the rest fits; equally important ones together, because half of a breakdown would
/// mislead. Returns the names of the dropped ones in table order.
std::vector<std::string> fit(std::vector<PrintedColumn>& columns, std::size_t width) {
  const std::size_t room = width + gap.size();  // no gap is needed after the last column
  std::size_t needed = indent.size();
  for (const PrintedColumn& column : columns) needed += width_of(column) + gap.size();
  std::vector<std::size_t> left_out;
  for (const std::size_t c : leaving_order(columns)) {
    const bool alone = left_out.empty() || columns[left_out.back()].importance < columns[c].importance;
    if (needed <= room && alone) break;
    needed -= width_of(columns[c]) + gap.size();
    left_out.push_back(c);
  }
  std::vector<std::string> names;
  std::vector<PrintedColumn> kept;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (std::ranges::find(left_out, c) == left_out.end())
      kept.push_back(std::move(columns[c]));
    else
      names.push_back(columns[c].name);
  }
  columns = std::move(kept);
  return names;
}

std::string_view code_of(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::none:
      return "";
    case Emphasis::best:
      return "\x1b[32m";
    case Emphasis::infeasible:
      return "\x1b[31m";
    case Emphasis::dim:
      return "\x1b[2m";
  }
  return "";
}

std::string line(std::string_view content, Emphasis emphasis, const Style& style) {
  content = content.substr(0, content.find_last_not_of(' ') + 1);
  if (content.empty()) return "\n";
  const std::string_view code = style.colour ? code_of(emphasis) : "";
  return fmt::format("{}{}{}{}\n", indent, code, content, code.empty() ? "" : "\x1b[0m");
}

}  // namespace

Printed to_text(const Table& table, const Style& style) {
  std::vector<PrintedColumn> columns = printed_columns(table);
  if (!style.unicode) make_ascii(columns);
  Printed result;
  if (style.width > 0)
    if (const auto names = fit(columns, std::size_t(style.width)); !names.empty())
      result.hint = fmt::format("columns left out: {} (use --columns all)", fmt::join(names, ", "));

  const std::vector<std::string> lines = joined_lines(columns, gap);
  const bool titled = std::ranges::any_of(columns, [](const auto& column) { return !column.title.empty(); });
  if (titled) result.text = line(lines.front(), Emphasis::none, style);
  for (std::size_t i = 1; i < lines.size(); ++i)
    result.text += line(lines[i], table.rows[i - 1].emphasis, style);

  if (!table.notes.empty()) result.text += "\n";
  for (std::size_t i = 0; i < table.notes.size(); ++i) {
    const std::string note = fmt::format("[{}] {}", i + 1, table.notes[i]);
    result.text += line(style.unicode ? note : ascii(note), Emphasis::dim, style);
  }
  return result;
}

}  // namespace paradl
