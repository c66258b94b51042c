#pragma once
#include <string>
#include <string_view>

namespace paradl {

/// The text with bytes that are not UTF-8 replaced by escapes such as \xff, because file names may have any
/// bytes.
std::string valid_utf8(std::string_view text);

}  // namespace paradl
