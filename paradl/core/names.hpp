#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace paradl {

/// Whether a table of names has one for each enumerator up to `last`. For a static_assert beside the table.
template <class Enum, std::size_t N>
consteval bool names_every(Enum last, const std::array<std::string_view, N>& names) {
  for (const std::string_view name : names)
    if (name.empty()) return false;
  return N == std::size_t(last) + 1;
}

}  // namespace paradl
