#include <array>

#include <fmt/format.h>

#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {
namespace {

constexpr std::array escapes{Substitution{"|", "\\|"}};
constexpr std::size_t shortest_rule = 3;  // some Markdown renderers need three dashes

void escape(PrintedColumn& column) {
  column.title = substituted(column.title, escapes);
  for (std::string& cell : column.cells) cell = substituted(cell, escapes);
}

/// "---:" for numbers, "----" for text
std::string rule(const PrintedColumn& column) {
  std::string dashes(width_of(column), '-');
  if (column.right_aligned) dashes.back() = ':';
  return dashes;
}

}  // namespace

std::string to_markdown(const Table& table) {
  std::vector<PrintedColumn> columns = printed_columns(table);
  std::vector<std::string> rules;
  for (PrintedColumn& column : columns) {
    escape(column);
    if (const auto width = width_of(column); width < shortest_rule) column.title.resize(shortest_rule, ' ');
    rules.push_back(rule(column));
  }
  const std::vector<std::string> lines = joined_lines(columns, " | ");
  std::string text = fmt::format("| {} |\n| {} |\n", lines.front(), fmt::join(rules, " | "));
  for (std::size_t i = 1; i < lines.size(); ++i) text += fmt::format("| {} |\n", lines[i]);

  if (!table.notes.empty()) text += "\n";
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    text += fmt::format("- [{}] {}\n", i + 1, table.notes[i]);
  return text;
}

}  // namespace paradl
