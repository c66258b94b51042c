#pragma once
#include <string_view>
#include <vector>

namespace paradl {

/// The pieces between the characters `at`, empty ones too.
std::vector<std::string_view> split(std::string_view text, char at);

}  // namespace paradl
