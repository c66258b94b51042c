#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "paradl/report/table.hpp"

namespace paradl {

/// The reader of a table: people get "24 %" and "> 20 %", machines get numbers.
enum class ReadBy { people, machines };

/// An answer before it has a format. Each format calls what it needs, so that nothing is made without need.
struct Output {
  std::function<std::string(const Style&)> text;  // for people
  std::function<Table(ReadBy)> table;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> picture = {};  // SVG; empty: there is none
};

enum class Format { text, markdown, csv, json, jsonl, latex, svg };

/// What a format prints of an answer.
enum class Prints { text, table, json, picture };

/// One output format. A new one is an enumerator, a printer in its own file, and a row in formats.cpp; -f,
/// -o, help and error texts read the rows, and what is special about a format is in its row.
struct FormatRow {
  Format format;
  std::string_view name;    // for -f: "markdown"
  std::string_view ending;  // of files for -o: ".md"
  Prints prints;
  std::string (*print)(const Output&, const Style&);
  ReadBy read_by = ReadBy::people;  // a table for machines has all columns, unless --columns names some
  /// Prints a table within a text, if an answer is more than one table; nullptr: only the main table is
  /// printed.
  std::string (*within_text)(const Table&) = nullptr;
};

std::span<const FormatRow> formats();
const FormatRow& row_of(Format format);

/// nullptr if no format has that name.
const FormatRow* find_format(std::string_view name);
/// UsageError for a format that is not known, or that is a picture and `draws` is false.
const FormatRow& read_format(const std::string& name, bool draws = false);
/// The format of -f NAME (empty: not typed) and --json; text without both. UsageError if they contradict.
const FormatRow& typed_format(const std::string& name, bool json);
/// The format of a file for -o, by its ending.
const FormatRow& format_of_file(const std::string& path, bool draws = false);

/// "text, markdown, csv, json, jsonl or latex"
std::string format_names(bool draws = false);

}  // namespace paradl
