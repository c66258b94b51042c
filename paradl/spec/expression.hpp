#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace paradl {

/// Values for `$names`.
using Parameters = std::map<std::string, std::int64_t, std::less<>>;

/// Why an expression has no value; `message` and `help` are for the user.
struct ExpressionError {
  std::string message, help;
};

/// "4*$hidden" -> a whole number. Supports + - * /, min(,) and brackets; a division must have no remainder.
/// Throws ExpressionError.
std::int64_t evaluate(std::string_view text, const Parameters& parameters);

}  // namespace paradl
