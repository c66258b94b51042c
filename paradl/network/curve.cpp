#include "paradl/network/curve.hpp"

#include <algorithm>

namespace paradl {

Seconds Curve::operator()(Bytes m) const {
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const auto& [time, from, below] : choices_)
    if (from <= m && m < below) least = std::min(least, time(m));
  return choices_.empty() ? Seconds{} : least;
}

}  // namespace paradl
