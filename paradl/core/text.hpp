#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/error.hpp"

namespace paradl {

/// The pieces between the characters `at`, including empty ones.
std::vector<std::string_view> split(std::string_view text, char at);

/// A word as it is typed in a shell: in quotes where the shell needs them.
std::string shell_word(const std::string& word);

/// Writes control characters other than line ends as `\x1b`, so that a quoted word cannot control a terminal.
std::string visible(std::string_view text);

/// The first place where text is not UTF-8, or has a control character that could control a terminal.
std::optional<Spot> not_text(std::string_view text);

}  // namespace paradl
