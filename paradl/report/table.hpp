#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace paradl {

/// What a column holds: determines alignment, formatting and the unit in machine formats.
enum class Holds {
  text,
  shape,  // text that is aligned like a number: "16x4"
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
  int importance = 0;  // on a narrow terminal, columns of low importance are dropped first
};

/// A cell in base units; monostate: does not apply. A number in a text column is printed as a count, a text
/// in a column of numbers unchanged.
using Value = std::variant<std::monostate, double, std::string>;

enum class Emphasis { none, best, infeasible, dim };

struct Row {
  std::vector<Value> values;  // one per column; missing ones at the end do not apply
  Emphasis emphasis = Emphasis::none;
  std::vector<int> notes;  // footnotes, counted from 1
  std::string mark;        // before the first column: "1"; an infeasible row without one gets "x"
};

struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

/// Drops columns that are empty in every row: no value, an empty text, or zero seconds. Columns in `keep`
/// stay, and so do all columns of a table without rows.
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

/// A text for stdout and, if columns were dropped, a line for stderr (without its end of line).
struct Printed {
  std::string text;
  std::string hint;
};

Printed to_text(const Table& table, const Style& style = {});
std::string to_markdown(const Table& table);
std::string to_csv(const Table& table);
std::string to_latex(const Table& table);

// Shared by the printers.

/// The mark before the first column of a row: its own, "x" if it is infeasible, or nothing.
std::string mark_of(const Row& row);
bool has_marks(const Table& table);
bool has_notes(const Table& table);  // whether any row refers to a footnote
const Value& value_at(const Row& row, std::size_t column);
bool is_right_aligned(Holds holds);

/// A column whose cells are text already. Marks and footnote marks are columns, too.
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
