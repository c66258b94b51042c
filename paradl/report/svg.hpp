#pragma once
#include <string>
#include <string_view>

namespace paradl {

/// Text with the special characters of SVG escaped.
std::string escaped(std::string_view text);

}  // namespace paradl
