#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/core/units.hpp"
#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {
namespace {

// [ and * are braced because they would be arguments of the \\ that ends the row above.
constexpr std::array escapes{Substitution{"\\", "\\textbackslash{}"},
                             Substitution{"&", "\\&"},
                             Substitution{"%", "\\%"},
                             Substitution{"$", "\\$"},
                             Substitution{"#", "\\#"},
                             Substitution{"_", "\\_"},
                             Substitution{"{", "\\{"},
                             Substitution{"}", "\\}"},
                             Substitution{"~", "\\textasciitilde{}"},
                             Substitution{"^", "\\textasciicircum{}"},
                             Substitution{"<=", "$\\leq$"},
                             Substitution{">=", "$\\geq$"},
                             Substitution{"≤", "$\\leq$"},
                             Substitution{"≥", "$\\geq$"},
                             Substitution{"<", "$<$"},
                             Substitution{">", "$>$"},
                             Substitution{"|", "$|$"},
                             Substitution{"[", "{[}"},
                             Substitution{"*", "{*}"},
                             Substitution{"Σ", "$\\Sigma$"},
                             Substitution{"α", "$\\alpha$"},
                             Substitution{"β", "$\\beta$"},
                             Substitution{"φ", "$\\phi$"},
                             Substitution{"δ", "$\\delta$"},
                             Substitution{"γ", "$\\gamma$"},
                             Substitution{"≠", "$\\neq$"},
                             Substitution{"⌈", "$\\lceil$"},
                             Substitution{"⌉", "$\\rceil$"},
                             Substitution{"✗", "$\\times$"},
                             Substitution{"×", "$\\times$"},
                             Substitution{"±", "$\\pm$"},
                             Substitution{"²", "$^2$"}};

std::string escaped(std::string_view text) { return substituted(text, escapes); }

struct ColumnUnit {
  std::string name;  // "ms"; empty if the numbers have none
  double base = 1;   // how many seconds, bytes, ...
};

template <class Q>
double base_of(std::string_view unit) {
  const auto units = units_of<Q>();
  const auto found = std::ranges::find(units, unit, &Unit::name);
  return found == units.end() ? 1 : found->base;  // units that cannot be read are base units: "B/s"
}

double base_of(Holds holds, std::string_view unit) {
  switch (holds) {
    case Holds::seconds:
      return base_of<Seconds>(unit);
    case Holds::bytes:
    case Holds::message:
      return base_of<Bytes>(unit);
    case Holds::bandwidth:
      return base_of<Bandwidth>(unit);
    case Holds::flops:
      return base_of<FlopRate>(unit);
    case Holds::joules:
      return unit == "GJ" ? 1e9 : unit == "MJ" ? 1e6 : unit == "kJ" ? 1e3 : unit == "mJ" ? 1e-3 : 1;
    default:
      return 1;
  }
}

/// The median of the non-zero numbers of a column; 0 if there are none.
double median_size(const Table& table, std::size_t index) {
  std::vector<double> sizes;
  for (const Row& row : table.rows)
    if (const auto* number = std::get_if<double>(&value_at(row, index));
        number && *number != 0 && std::isfinite(*number))
      sizes.push_back(std::abs(*number));
  std::ranges::sort(sizes);
  return sizes.empty() ? 0.0 : sizes[sizes.size() / 2];
}

/// One unit for all columns of a kind, so that numbers of a row can be added: that of the median of the
/// largest column.
ColumnUnit unit_of(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  if (column.holds == Holds::count || column.holds == Holds::rate) return {};
  double size = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].holds == column.holds) size = std::max(size, median_size(table, c));
  if (column.holds == Holds::seconds)
    size = std::min(size, 1.0);  // not in days, so that seconds remain visible
  const std::string sample = cell_text(column, size);
  const std::string unit = sample.substr(sample.rfind(' ') + 1);
  return {unit, base_of(column.holds, unit)};
}

/// The three digits of core/format without exponent or grouping; siunitx groups by the document's settings.
std::string three_plain_digits(double number) {
  static constexpr std::array ungrouped{Substitution{" ", ""}};
  const double rounded = std::stod(substituted(three_digits(number), ungrouped));
  if (rounded == 0) return "0";
  const int exponent = int(std::floor(std::log10(std::abs(rounded)) + 1e-9));  // 1e-9: 1000 must give 3
  return fmt::format("{:.{}f}", rounded, std::max(0, 2 - exponent));
}

std::string plain_number(Holds holds, double number) {
  if (holds == Holds::share) return fmt::format("{:.0f}", 100 * number);
  if (holds == Holds::count && number == std::floor(number)) return fmt::format("{:.0f}", number);
  return three_plain_digits(number);
}

/// The width of the numbers of an S column: "table-format=-3.2".
class NumberFormat {
 public:
  void widen(std::string_view number) {
    negative_ = negative_ || number.starts_with('-');
    if (number.starts_with('-')) number.remove_prefix(1);
    const std::size_t point = std::min(number.find('.'), number.size());
    before_ = std::max(before_, point);
    after_ = std::max(after_, number.size() - std::min(point + 1, number.size()));
  }
  std::string text() const {
    return fmt::format("S[table-format={}{}.{}]", negative_ ? "-" : "", before_, after_);
  }

 private:
  bool negative_ = false;
  std::size_t before_ = 1, after_ = 0;
};

struct LatexColumn {
  std::string format;
  PrintedColumn printed;
};

LatexColumn text_column(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  const bool right = is_right_aligned(column.holds);
  LatexColumn result{right ? "r" : "l", {.title = escaped(column.title), .right_aligned = right}};
  for (const Row& row : table.rows) {
    const Value& value = value_at(row, index);
    const bool applies = !std::holds_alternative<std::monostate>(value);
    result.printed.cells.push_back(applies ? escaped(cell_text(column, value)) : "--");
  }
  return result;
}

/// Braces keep siunitx from parsing text as a number.
LatexColumn number_column(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  const ColumnUnit unit = unit_of(table, index);
  NumberFormat format;
  LatexColumn result{"", {.title = fmt::format("{{{}}}", escaped(column.title)), .right_aligned = true}};
  if (!unit.name.empty())
    result.printed.title = fmt::format("{{{} ({})}}", escaped(column.title), escaped(unit.name));
  for (const Row& row : table.rows) {
    const Value& value = value_at(row, index);
    const auto* number = std::get_if<double>(&value);
    if (number && std::isfinite(*number) && std::abs(*number / unit.base) < 1e15) {
      result.printed.cells.push_back(plain_number(column.holds, *number / unit.base));
      format.widen(result.printed.cells.back());
    } else {
      const bool applies = !std::holds_alternative<std::monostate>(value);
      result.printed.cells.push_back(
          fmt::format("{{{}}}", applies ? escaped(cell_text(column, value)) : "--"));
    }
  }
  result.format = format.text();
  return result;
}

LatexColumn mark_column(const Table& table) {
  LatexColumn result{"r", {.right_aligned = true}};
  for (const Row& row : table.rows) result.printed.cells.push_back(escaped(mark_of(row)));
  return result;
}

LatexColumn note_column(const Table& table) {
  LatexColumn result{"l", {}};
  for (const Row& row : table.rows)
    result.printed.cells.push_back(
        row.notes.empty() ? "" : fmt::format("\\textsuperscript{{{}}}", fmt::join(row.notes, ",")));
  return result;
}

std::vector<LatexColumn> latex_columns(const Table& table) {
  std::vector<LatexColumn> columns;
  if (has_marks(table)) columns.push_back(mark_column(table));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Holds holds = table.columns[c].holds;
    const bool is_text = holds == Holds::text || holds == Holds::shape;
    columns.push_back(is_text ? text_column(table, c) : number_column(table, c));
  }
  if (has_notes(table)) columns.push_back(note_column(table));
  return columns;
}

}  // namespace

std::string to_latex(const Table& table) {
  std::string formats;
  std::vector<PrintedColumn> columns;
  for (LatexColumn& column : latex_columns(table)) {
    formats += (formats.empty() ? "" : " ") + column.format;
    columns.push_back(std::move(column.printed));
  }
  const std::vector<std::string> lines = joined_lines(columns, " & ");

  std::string text = "% needs \\usepackage{booktabs} and \\usepackage{siunitx}\n";
  text += fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n", formats, lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) text += fmt::format("{} \\\\\n", lines[i]);
  text += "\\bottomrule\n\\end{tabular}\n";

  // Below the tabular, because a long note inside would widen the columns.
  if (!table.notes.empty()) text += "\n";
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    text += fmt::format("{{\\footnotesize\\noindent\\textsuperscript{{{}}} {}\\par}}\n", i + 1,
                        escaped(table.notes[i]));
  return text;
}

}  // namespace paradl
