#include "paradl/spec/foreign/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/units.hpp"

namespace paradl::foreign {
namespace {

/// More fields than any format has: a line with more is wrong anyway.
constexpr std::size_t most_fields = 7;

constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

/// `part` of `line` without the spaces around it; `part` must be a view into `line`.
Field trimmed(std::string_view line, std::string_view part, int number) {
  while (!part.empty() && is_space(part.front())) part.remove_prefix(1);
  while (!part.empty() && is_space(part.back())) part.remove_suffix(1);
  const auto column = part.data() - line.data() + 1;
  return {part, {number, int(column), std::max(1, int(part.size()))}};
}

std::vector<Field> cut(std::string_view line, int number) {
  std::vector<Field> fields;
  std::string_view rest = line;
  for (std::size_t bar; fields.size() + 1 < most_fields && (bar = rest.find('|')) != rest.npos;
       rest.remove_prefix(bar + 1))
    fields.push_back(trimmed(line, rest.substr(0, bar), number));
  fields.push_back(trimmed(line, rest, number));
  return fields;
}

/// The shortest digits of a double, as digits x 10^exponent with `digits` such as `1` or `3.119502`.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal decimal_of(double value) {
  const std::string written = [&] {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    return std::string(buffer, end);
  }();
  const std::size_t e = written.find('e');
  const char* exponent = written.c_str() + e + 1 + (written[e + 1] == '+');
  Decimal decimal{.digits = written.substr(0, e), .exponent = 0};
  std::from_chars(exponent, written.c_str() + written.size(), decimal.exponent);
  return decimal;
}

bool neighbours(double a, double b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return a == b || std::nextafter(a, infinity) == b || std::nextafter(a, -infinity) == b;
}

}  // namespace

std::vector<Line> read_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // editors on Windows mark UTF-8 this way
  std::vector<Line> lines;
  for (int number = 1; !text.empty() && lines.size() <= most_lines; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const Field whole = trimmed(line, line, number);
    if (!whole.text.empty() && whole.text.front() != '#') lines.push_back({number, cut(line, number)});
  }
  return lines;
}

std::optional<std::int64_t> read_whole(std::string_view text) {
  if (text.empty() || text.size() > 18 || !std::ranges::all_of(text, is_digit)) return {};
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<double> read_real(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<Numbers> read_shape(const Field& field, std::int64_t least, std::int64_t most,
                                  Problems& problems) {
  constexpr std::size_t most_sizes = 5;  // samples or filters, channels, three extents
  Numbers shape;
  for (std::string_view rest = field.text;;) {
    const std::size_t x = rest.find_first_of("xX");
    const auto size = read_whole(trimmed(rest, rest.substr(0, x), 0).text);
    if (!size || shape.size() == most_sizes) {
      problems.add(field.spot, "cannot read this shape", "write sizes joined by `x`, such as 64x56x56");
      return {};
    }
    if (*size < least || *size > most) {
      problems.add(field.spot, fmt::format("{} is out of range", *size),
                   fmt::format("write a size from {} to {}", least, most));
      return {};
    }
    shape.push_back(*size);
    if (x == rest.npos) return shape;
    rest.remove_prefix(x + 1);
  }
}

std::string text(const Numbers& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

double product(const Numbers& numbers) {
  double all = 1;
  for (const std::int64_t number : numbers) all *= double(number);
  return all;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

std::string plain_name(std::string_view words) {
  std::string name = lower(words);
  std::ranges::replace_if(
      name, [](char c) { return !is_letter(c) && !is_digit(c) && c != '-'; }, '_');
  return name;
}

std::string base_name(std::string_view path) {
  if (const std::size_t slash = path.find_last_of("/\\"); slash != path.npos) path.remove_prefix(slash + 1);
  std::string name(path);
  std::ranges::replace_if(
      name, [](char c) { return !is_printable(c); }, '?');
  return name;
}

std::string stem_name(std::string_view path) {
  const std::string base = base_name(path);
  const std::string stem = plain_name(std::string_view(base).substr(0, base.rfind('.')));
  return stem.empty() ? "imported" : stem;
}

std::string result_name(const std::string& given, const std::string& fallback) {
  if (given.empty()) return fallback;
  if (given.size() > longest_name || lower(given) != plain_name(given))
    throw UsageError(fmt::format("`{}` cannot be a name", given), "use letters, digits, `-` and `_`");
  return given;
}

std::string scalar(std::string_view words) {
  const auto harmless = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; };
  const bool plain = !words.empty() && is_letter(words.front()) && std::ranges::all_of(words, harmless);
  if (plain && lower(words) != "null") return std::string(words);
  std::string out = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') out += '\\';
    out += is_printable(c) ? c : '?';
  }
  return out + '"';
}

template <class Q>
std::string exact_text(Q value) {
  const Decimal number = decimal_of(value.base());
  const auto fits = [&](const Unit& unit) { return unit.base <= value.base(); };
  const Unit* best = nullptr;
  std::string written;
  for (const Unit& unit : units_of<Q>()) {
    const Decimal size = decimal_of(unit.base);
    if (size.digits != "1") continue;  // powers of two and bits would change the digits
    // The largest unit in which the value is at least one, or else the smallest unit.
    if (best && (fits(unit) ? fits(*best) && unit.base < best->base : fits(*best) || unit.base > best->base))
      continue;
    const double moved = *read_real(fmt::format("{}e{}", number.digits, number.exponent - size.exponent));
    std::string candidate = fmt::format("{} {}", moved, unit.name);
    if (best && !neighbours(parse<Q>(candidate)->base(), value.base())) continue;
    best = &unit;
    written = std::move(candidate);
  }
  return written;
}
template std::string exact_text(Seconds);
template std::string exact_text(Bytes);
template std::string exact_text(Bandwidth);
template std::string exact_text(FlopRate);

}  // namespace paradl::foreign
