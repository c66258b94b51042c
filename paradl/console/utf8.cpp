#include "paradl/console/utf8.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace paradl {
namespace {

unsigned code(char c) { return static_cast<unsigned char>(c); }

/// Number of bytes of the letter that a text begins with; 0 if it is not one.
std::size_t letter_size(std::string_view text) {
  const unsigned first = code(text.front());
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xc2 && first < 0xe0   ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  const auto continues = [](char c) { return (code(c) & 0xc0) == 0x80; };
  if (size == 0 || size > text.size()) return 0;
  return std::ranges::all_of(text.substr(1, size - 1), continues) ? size : 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t valid = 0;  // answers are long and nearly always valid: copied at once
    while (valid < text.size()) {
      const std::size_t size = letter_size(text.substr(valid));
      if (size == 0) break;
      valid += size;
    }
    out += text.substr(0, valid);
    if (valid < text.size()) out += fmt::format("\\x{:02x}", code(text[valid++]));
    text.remove_prefix(valid);
  }
  return out;
}

}  // namespace paradl
