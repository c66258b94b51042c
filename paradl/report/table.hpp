#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace paradl {

/// What a column holds: decides alignment, formatting and the unit in machine formats.
enum class Holds {
  text,
  shape,  // text that stands for a number and is aligned like one: "16x4"
  count,  // plain numbers: GPUs, layers, ratios
  share,  // 0.883 -> "88 %"
  seconds,
  bytes,      // memory, in powers of two: "5.40 GiB"
  message,    // bytes on the wire, in powers of ten: "102 MB"
  bandwidth,  // bytes per second
  rate,       // anything else per second; the title says what: "samples/s"
  flops,      // flop per second
  joules,
};

struct Column {
  std::string id;     // machine name without unit: "epoch" becomes epoch_s in CSV
  std::string title;  // heading for people
  Holds holds = Holds::text;
  int importance = 0;  // higher stays longer when a terminal is narrow
};

/// A cell in base units; monostate: does not apply. A number in a text column is printed as a count, and a
/// text in a column of numbers as it is.
using Value = std::variant<std::monostate, double, std::string>;

enum class Emphasis { none, best, infeasible, dim };

struct Row {
  std::vector<Value> values;  // one per column; what is missing at the end does not apply
  Emphasis emphasis = Emphasis::none;
  std::vector<int> notes;  // footnotes, counted from 1
  std::string mark;        // before the first column: "1"; an infeasible row without one gets "x"
};

struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

/// Drops the columns that say nothing in any row: no value, an empty text, or zero seconds. Columns whose ids
/// are in `keep` stay, and a table without rows stays as it is.
Table without_empty_columns(Table table, const std::vector<std::string_view>& keep = {});

/// Name of a column for machines, with its unit: "epoch_s".
std::string machine_name(const Column& column);

/// A value as people read it: "83.1 s", or "-" if it does not apply.
std::string cell_text(const Column& column, const Value& value);

struct Style {
  int width = 0;  // of the terminal; 0: never cut
  bool colour = false;
  bool unicode = true;
};

/// A text for stdout and, if something was left out, a line for stderr (without its end of line).
struct Printed {
  std::string text;
  std::string hint;
};

Printed to_text(const Table& table, const Style& style = {});
std::string to_markdown(const Table& table);
std::string to_csv(const Table& table);
std::string to_latex(const Table& table);

// What the printers share.

/// What stands before the first column of a row: its mark, "x" if it is infeasible, or nothing.
std::string mark_of(const Row& row);
bool has_marks(const Table& table);
bool has_notes(const Table& table);  // whether any row refers to a footnote
const Value& value_at(const Row& row, std::size_t column);
bool is_right_aligned(Holds holds);

/// A column of which everything is text already. Marks and footnote marks are columns, too.
struct PrintedColumn {
  std::string name;  // for the hint: the title, or the id of a column without one
  std::string title;
  bool right_aligned = false;
  int importance = 0;
  std::vector<std::string> cells;
};

inline constexpr int always_shown = 1 << 30;  // importance of marks and footnote marks

std::vector<PrintedColumn> printed_columns(const Table& table);
std::size_t width_of(const PrintedColumn& column);

/// The heading, then one line per row; cells padded to the width of their column.
std::vector<std::string> joined_lines(const std::vector<PrintedColumn>& columns, std::string_view separator);

}  // namespace paradl
