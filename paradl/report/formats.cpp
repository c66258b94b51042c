#include "paradl/report/formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/error.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

/// A format that prints the table of an answer.
template <std::string (*Print)(const Table&), ReadBy reader>
consteval FormatRow table_row(Format format, std::string_view name, std::string_view ending) {
  return {.format = format,
          .name = name,
          .ending = ending,
          .prints = Prints::table,
          .print = [](const Output& output, const Style&) { return Print(output.table(reader)); },
          .read_by = reader};
}

consteval FormatRow within_text(FormatRow row, std::string (*print)(const Table&)) {
  row.within_text = print;
  return row;
}

// clang-format off
constexpr std::array rows{
    FormatRow{Format::text, "text", ".txt", Prints::text,
              [](const Output& output, const Style& style) { return output.text(style); }},
    within_text(table_row<to_markdown, ReadBy::people>(Format::markdown, "markdown", ".md"), to_markdown),
    table_row<to_csv, ReadBy::machines>(Format::csv, "csv", ".csv"),
    FormatRow{Format::json, "json", ".json", Prints::json,
              [](const Output& output, const Style&) { return json_text(output.json()); }},
    FormatRow{Format::jsonl, "jsonl", ".jsonl", Prints::json,
              [](const Output& output, const Style&) { return json_lines(output.json()); }},
    table_row<to_latex, ReadBy::people>(Format::latex, "latex", ".tex"),
    FormatRow{Format::svg, "svg", ".svg", Prints::picture,
              [](const Output& output, const Style&) { return output.picture(); }},
};
// clang-format on
static_assert(rows.size() == std::size_t(Format::svg) + 1, "a row for every Format");
static_assert(
    std::ranges::all_of(rows, [](const FormatRow& row) { return &row == &rows[std::size_t(row.format)]; }),
    "in the order of Format");

/// "a, b or c" of the formats that an answer has.
std::string listed(std::string_view FormatRow::*word, bool draws) {
  std::vector<std::string_view> words;
  for (const FormatRow& row : rows)
    if (draws || row.prints != Prints::picture) words.push_back(row.*word);
  const std::string_view last = words.back();
  words.pop_back();
  return fmt::format("{} or {}", fmt::join(words, ", "), last);
}

const FormatRow* find(std::string_view FormatRow::*word, std::string_view text, bool draws) {
  const auto found = std::ranges::find(rows, text, word);
  return found == rows.end() || (found->prints == Prints::picture && !draws) ? nullptr : &*found;
}

}  // namespace

std::span<const FormatRow> formats() { return rows; }

const FormatRow& row_of(Format format) { return rows[std::size_t(format)]; }

const FormatRow* find_format(std::string_view name) { return find(&FormatRow::name, name, true); }

const FormatRow& read_format(const std::string& name, bool draws) {
  if (const FormatRow* row = find(&FormatRow::name, name, draws)) return *row;
  throw UsageError(fmt::format("-f {}: not a format", name), fmt::format("use {}", format_names(draws)));
}

const FormatRow& typed_format(const std::string& name, bool json) {
  if (!json) return name.empty() ? row_of(Format::text) : read_format(name);
  if (!name.empty() && name != row_of(Format::json).name)
    throw UsageError(fmt::format("--json and -f {} contradict each other", name), "leave one of them out");
  return row_of(Format::json);
}

const FormatRow& format_of_file(const std::string& path, bool draws) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (const FormatRow* row = find(&FormatRow::ending, ending, draws)) return *row;
  const bool drawn_elsewhere = find(&FormatRow::ending, ending, true) != nullptr;
  throw UsageError(drawn_elsewhere ? fmt::format("-o {}: this command draws no picture", path)
                                   : fmt::format("-o {}: no format goes with `{}`", path, ending),
                   fmt::format("use {}", listed(&FormatRow::ending, draws)));
}

std::string format_names(bool draws) { return listed(&FormatRow::name, draws); }

}  // namespace paradl
