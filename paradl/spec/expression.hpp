#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace paradl {

/// Values for `$names`.
using Parameters = std::map<std::string, std::int64_t, std::less<>>;

/// Why an expression has no value; `message` is ready to be shown.
struct ExpressionError {
  std::string message, help;
};

/// "4*$hidden" -> a whole number. Knows + - * /, min(,) and brackets; a division must come out even. Throws
/// ExpressionError.
std::int64_t evaluate(std::string_view text, const Parameters& parameters);

}  // namespace paradl
