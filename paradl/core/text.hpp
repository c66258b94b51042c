#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/error.hpp"

namespace paradl {

/// The pieces between the characters `at`, empty ones too.
std::vector<std::string_view> split(std::string_view text, char at);

/// A word as it is typed in a shell: in quotes where it has to be.
std::string shell_word(const std::string& word);

/// Control characters but line ends as `\x1b`, so that a quoted word cannot play on somebody's terminal.
std::string visible(std::string_view text);

/// Where text stops being UTF-8, or has a control character that would reach somebody's terminal.
std::optional<Spot> not_text(std::string_view text);

}  // namespace paradl
