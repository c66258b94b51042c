#include <algorithm>

#include <fmt/format.h>

#include "paradl/report/table.hpp"
#include "paradl/spec/csv.hpp"

namespace paradl {
namespace {

using Fields = std::vector<std::string>;

std::string line(const Fields& fields) {
  Fields safe;
  for (const std::string& field : fields) safe.push_back(csv_text(field));
  return fmt::format("{}\n", fmt::join(safe, ","));
}

/// In base units, with the fewest digits that give the same double.
std::string field(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

/// Only infeasible rows are marked; the rank of the others is their order.
bool does_not_fit(const Row& row) { return row.emphasis == Emphasis::infeasible; }

std::string note_texts(const Table& table, const Row& row) {
  Fields texts;
  for (const int note : row.notes) texts.push_back(table.notes.at(std::size_t(note - 1)));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

std::string to_csv(const Table& table) {
  // CSV has no footnotes and colours, so their information becomes columns.
  const bool marks = std::ranges::any_of(table.rows, does_not_fit);
  const bool notes = has_notes(table);
  Fields header;
  if (marks) header.emplace_back("mark");
  for (const Column& column : table.columns) header.push_back(machine_name(column));
  if (notes) header.emplace_back("notes");

  std::string text = line(header);
  for (const Row& row : table.rows) {
    Fields fields;
    if (marks) fields.emplace_back(does_not_fit(row) ? "x" : "");
    for (std::size_t c = 0; c < table.columns.size(); ++c) fields.push_back(field(value_at(row, c)));
    if (notes) fields.push_back(note_texts(table, row));
    text += line(fields);
  }
  return text;
}

}  // namespace paradl
