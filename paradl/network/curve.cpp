#include "paradl/network/curve.hpp"

#include <algorithm>

namespace paradl {

Seconds Curve::operator()(Bytes m) const {
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const auto& [time, from, below] : choices_)
    if (from <= m && m < below) least = std::min(least, time(m));
  return choices_.empty() ? Seconds{} : least;
}

int Curve::best(Bytes m) const {
  int best = -1;
  Seconds least;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const auto& [time, from, below] = choices_[i];
    if (!(from <= m && m < below) || (best >= 0 && !(time(m) < least))) continue;
    best = int(i), least = time(m);
  }
  return best;
}

}  // namespace paradl
