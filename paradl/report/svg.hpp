#pragma once
#include <string>
#include <string_view>

namespace paradl {

/// Text as it may stand in SVG.
std::string escaped(std::string_view text);

}  // namespace paradl
