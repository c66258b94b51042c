#include "paradl/report/terminal.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace paradl {
namespace {

/// Empty if unset: all variables that we read are ignored if empty.
std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool colour_wanted(ColourChoice choice, bool tty) {
  if (choice != ColourChoice::automatic) return choice == ColourChoice::always;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return tty;
}

/// The system's value has priority, because COLUMNS is out of date when a window was resized.
int columns_of(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view columns = environment("COLUMNS");
  int number = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), number);
  return std::max(number, 0);
}

/// LC_ALL overrides LC_CTYPE, which overrides LANG. Both "UTF-8" and "utf8" are in use.
bool is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale{environment(name)};
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
constexpr bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80U; }

constexpr std::array spellings{
    Substitution{"Σ", "sum"},   Substitution{"α", "alpha"}, Substitution{"β", "beta"},
    Substitution{"φ", "phi"},   Substitution{"δ", "delta"}, Substitution{"✗", "x"},
    Substitution{"×", "*"},     Substitution{"±", "+-"},    Substitution{"²", "^2"},
    Substitution{"≤", "<="},    Substitution{"≥", ">="},    Substitution{"≠", "!="},
    Substitution{"γ", "gamma"}, Substitution{"⌈", "ceil("}, Substitution{"⌉", ")"}};

}  // namespace

Terminal terminal(int fd, ColourChoice choice) {
  const bool tty = isatty(fd) == 1 && environment("TERM") != "dumb";
  return {.tty = tty,
          .columns = tty ? columns_of(fd) : 0,
          .colour = colour_wanted(choice, tty),
          .unicode = is_unicode()};
}

std::size_t display_width(std::string_view text) {
  return text.size() - std::size_t(std::ranges::count_if(text, is_continuation));
}

std::string substituted(std::string_view text, std::span<const Substitution> substitutions) {
  std::string result;
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(substitutions, [&](const auto& s) { return text.starts_with(s.from); });
    const bool known = found != substitutions.end();
    const std::size_t length = known ? found->from.size() : 1;
    result += known ? found->to : text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

std::string ascii(std::string_view text) {
  std::string result;
  for (const char byte : substituted(text, spellings))
    if (!is_continuation(byte)) result += is_ascii(byte) ? byte : '?';
  return result;
}

}  // namespace paradl
