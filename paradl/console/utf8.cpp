#include "paradl/console/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace paradl {
namespace {

unsigned code(char c) { return static_cast<unsigned char>(c); }

/// Whether the next eight bytes are ASCII, as nearly all of an answer is.
bool begins_with_ascii(std::string_view text) {
  std::uint64_t bytes = 0;
  if (text.size() < sizeof bytes) return false;
  std::memcpy(&bytes, text.data(), sizeof bytes);
  return (bytes & 0x8080808080808080) == 0;
}

/// Number of bytes of the first letter of a text; 0 if it is not valid UTF-8.
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
    std::size_t valid = 0;  // answers are long and nearly always valid, so valid text is copied at once
    while (valid < text.size()) {
      const std::string_view rest = text.substr(valid);
      const std::size_t size = begins_with_ascii(rest) ? sizeof(std::uint64_t) : letter_size(rest);
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
