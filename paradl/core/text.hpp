#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace paradl {

/// The pieces between the characters `at`, empty ones too.
std::vector<std::string_view> split(std::string_view text, char at);

/// A word as it is typed in a shell: in quotes where it has to be.
std::string shell_word(const std::string& word);

}  // namespace paradl
