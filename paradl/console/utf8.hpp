#pragma once
#include <string>
#include <string_view>

namespace paradl {

/// A text whose bytes that are not UTF-8 are shown as \xff: names of files may have any bytes.
std::string valid_utf8(std::string_view text);

}  // namespace paradl
