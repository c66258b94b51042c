#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "paradl/core/quantity.hpp"

namespace paradl {

struct Unit {
  std::string_view name;
  double base;  // how many s, B, B/s or flop/s
};

/// Every unit a spec may use for Q, spelt out: no prefix arithmetic to get wrong.
template <class Q>
std::span<const Unit> units_of();

/// "12.5 GB/s" -> Bandwidth. Nothing if the number or the unit is not understood, or the value is negative.
template <class Q>
std::optional<Q> parse(std::string_view text);

/// How to ask for a Q in an error message: "a time, such as `500 ns`".
template <class Q>
std::string_view wanted();

}  // namespace paradl
