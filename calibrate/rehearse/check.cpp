#include "calibrate/rehearse/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace paradl::calibrate {
namespace {

/// Calls visit(index in the part, index in the whole) for every number of a part.
template <class Visit>
void for_each_number(const Box& part, const Box& whole, Visit visit) {
  std::array<std::int64_t, 5> i = part.begin;
  for (std::size_t at = 0; at < part.items(); ++at) {
    std::size_t there = 0;
    for (std::size_t d = 0; d < 5; ++d)
      there = there * std::size_t(whole.length(d)) + std::size_t(i[d] - whole.begin[d]);
    visit(at, there);
    for (std::size_t d = 5; d-- > 0;) {
      if (++i[d] < part.end[d]) break;
      i[d] = part.begin[d];
    }
  }
}

double size_of(const Outcome& outcome) {
  double largest = std::numeric_limits<double>::min();
  for (const float value : outcome.values) largest = std::max(largest, double(std::abs(value)));
  return largest;
}

}  // namespace

Difference compare(const std::vector<Outcome>& parallel, const std::vector<Outcome>& serial) {
  // A tensor that should be zero has only rounding errors (the gradient of a bias before a batch norm), so it
  // is compared with the size of the other tensors.
  constexpr double least_share = 1e-3;
  double largest = 0;
  for (const Outcome& whole : serial) largest = std::max(largest, size_of(whole));
  Difference out;
  for (const Outcome& part : parallel) {
    const auto whole = std::ranges::find(serial, part.what, &Outcome::what);
    if (whole == serial.end() || common(part.own, whole->own) != part.own)
      throw std::logic_error("the serial run does not have the " + part.what);
    const double size = std::max(size_of(*whole), least_share * largest);
    double most = 0;
    for_each_number(part.own, whole->own, [&](std::size_t mine, std::size_t theirs) {
      const double apart = std::abs(double(part.values[mine]) - double(whole->values[theirs]));
      most = std::isfinite(apart) ? std::max(most, apart) : std::numeric_limits<double>::infinity();
    });
    if (most / size > out.largest || out.where.empty()) out = {most / size, part.what};
  }
  return out;
}

}  // namespace paradl::calibrate
