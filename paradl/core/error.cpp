#include "paradl/core/error.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl {
namespace {

/// Number of letters to insert, remove, replace or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string_view line_of(std::string_view source, int line) {
  while (--line > 0) {
    const std::size_t end = source.find('\n');
    if (end == source.npos) return {};
    source.remove_prefix(end + 1);
  }
  source = source.substr(0, source.find('\n'));
  if (source.ends_with('\r')) source.remove_suffix(1);
  return source;
}

/// A source line with control characters replaced by spaces, so that the caret below it stays aligned.
std::string printable(std::string_view line) {
  std::string shown(line);
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return shown;
}

/// Number of letters in a UTF-8 text: columns are counted in bytes, but the caret is placed by letters.
std::size_t letters(std::string_view utf8) {
  return std::size_t(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Of longer lines (generated files) only the part around the mistake is shown.
constexpr std::size_t widest_line = 160;

std::string picture(const std::string& file, std::string_view source, const Problem& problem) {
  const auto& [line, column, width] = problem.where;
  std::string out = fmt::format("error: {}\n", visible(problem.message));
  if (line <= 0)
    return out + fmt::format(" --> {}\n{}", file, problem.help.empty() ? "" : "help: " + problem.help + "\n");

  const auto margin = fmt::formatted_size("{}", line);
  std::string shown = printable(line_of(source, line));
  std::size_t caret = std::min<std::size_t>(std::size_t(std::max(column, 1)) - 1, shown.size());
  if (shown.size() > widest_line) {
    const std::size_t from = caret > 60 ? caret - 60 : 0;
    shown = shown.substr(from, widest_line);
    caret -= from;
  }
  const std::size_t wide = std::clamp<std::size_t>(std::size_t(std::max(width, 1)), 1,
                                                   std::max<std::size_t>(1, shown.size() - caret));
  const std::size_t before = letters(shown.substr(0, caret)), under = letters(shown.substr(caret, wide));
  out += fmt::format("{:{}}--> {}:{}:{}\n", "", margin, file, line, column);
  out += fmt::format("{} | {}\n", line, shown);
  out += fmt::format("{:{}} | {}{}{}{}\n", "", margin, std::string(before, ' '),
                     std::string(std::max<std::size_t>(1, under), '^'), problem.help.empty() ? "" : " ",
                     problem.help);
  return out;
}

}  // namespace

SpecError::SpecError(std::string file, std::string source, std::vector<Problem> problems)
    : std::runtime_error(problems.front().message),
      file_(std::move(file)),
      source_(std::move(source)),
      problems_(std::move(problems)) {}

std::string shortened(std::string message) {
  constexpr std::size_t longest = 400, kept = 180;
  if (message.size() <= longest) return message;
  return message.substr(0, kept) + " ... " + message.substr(message.size() - kept);
}

namespace {

/// Words are compared in lower case, because a capital letter is not a spelling mistake.
std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest_name = 64;  // edit_distance() takes quadratic time
  if (word.size() > longest_name) return {};
  std::string best;
  if (word.size() < 2) return {};
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known)
    if (const auto d = edit_distance(lower(word), lower(candidate)); d < least) least = d, best = candidate;
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format("did you mean `{}`?", near);
}

std::string render(const SpecError& error) {
  std::string out;
  for (const Problem& problem : error.problems()) out += picture(error.file(), error.source(), problem);
  return out;
}

}  // namespace paradl
