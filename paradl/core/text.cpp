#include "paradl/core/text.hpp"

#include <fmt/format.h>

namespace paradl {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string shell_word(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_=.,:/%@";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string visible(std::string_view text) {
  std::string shown;
  for (const char c : text)
    if (const auto code = static_cast<unsigned char>(c); (code < 0x20 && c != '\n') || code == 0x7f)
      shown += fmt::format("\\x{:02x}", code);
    else
      shown += c;
  return shown;
}

std::optional<Spot> not_text(std::string_view text) {
  Spot here{1, 0, 1};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    here = c == '\n' ? Spot{here.line + 1, 0, 1} : Spot{here.line, here.column + 1, 1};
    if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) return here;
    const std::size_t more = c < 0x80                ? 0
                             : c >= 0xc2 && c < 0xe0 ? 1
                             : c >= 0xe0 && c < 0xf0 ? 2
                             : c >= 0xf0 && c < 0xf5 ? 3
                                                     : 4;
    if (more == 4) return here;
    for (std::size_t k = 0; k < more; ++k)
      if (++i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return here;
  }
  return {};
}

}  // namespace paradl
