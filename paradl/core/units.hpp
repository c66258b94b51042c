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

/// Every unit that a spec may use for Q. Prefixes are listed, not computed.
template <class Q>
std::span<const Unit> units_of();

/// "12.5 GB/s" -> Bandwidth. Nothing if the number or the unit is not understood, or the value is negative.
template <class Q>
std::optional<Q> parse(std::string_view text);

/// The values that a machine or a measurement can have. Others are mistakes, and sums of them could overflow.
struct Range {
  double least, most;     // in base units; zero may be allowed as well
  std::string_view text;  // "from 1 kB/s to 1e9 GB/s"
  bool holds(double base) const { return base >= least && base <= most; }
};
template <class Q>
Range plausible();

/// How an error message asks for a Q: "a time, such as `500 ns`".
template <class Q>
std::string_view wanted();

}  // namespace paradl
