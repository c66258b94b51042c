#pragma once
#include <limits>
#include <vector>

#include "calibrate/fit/robust.hpp"

namespace paradl::calibrate {

/// One timing of an operation that sends `messages` one after the other and `bytes` with them:
///
///     seconds = messages * alpha + bytes * beta
struct Observation {
  double messages = 1, bytes = 0, seconds = 0;
  double size = 0;  // bytes of the operation's buffer, by which ranges are told apart
};

/// Alpha and beta of one line, and how well it holds.
struct LineFit {
  Estimate alpha, beta;                    // s, s/B
  double r2 = 0;                           // share of the variance of log(seconds) that it explains
  double mean_error = 0, worst_error = 0;  // |fitted - measured| / measured
  std::size_t points = 0, outliers = 0;

  double operator()(const Observation& at) const { return at.messages * alpha.value + at.bytes * beta.value; }
};

/// At least two observations of different sizes; one size alone is all beta if it has bytes.
LineFit fit_line(const std::vector<Observation>& observations);

/// The line of buffers from `from` bytes up to, but not including, `below`.
struct RangeFit {
  double from = 0, below = std::numeric_limits<double>::infinity();
  LineFit line;
};

struct RangeOptions {
  std::size_t most = 5;         // ranges
  std::size_t least_sizes = 3;  // different sizes in a range
  /// Errors below this are no reason to split a line.
  double negligible = 0.02;
  /// By how much of itself a time may fall where one range ends and the next begins.
  double most_fall = 1;
};

/// Lines by ranges of size. Libraries change their protocol with the size of a message, so that one line is
/// off by tens of percent in the middle; where they change is found from the data, by dynamic programming
/// over all ways to cut, and each further range must pay for its three numbers (Bayesian information
/// criterion). The first range begins at the smallest size, the last has no end.
std::vector<RangeFit> fit_ranges(std::vector<Observation> observations, const RangeOptions& options = {});

/// The line of the range that a size is in; the first also serves what is smaller than all of them.
double fitted_seconds(const std::vector<RangeFit>& ranges, const Observation& at);

/// |fitted - measured| / measured, on average.
double mean_error(const std::vector<RangeFit>& ranges, const std::vector<Observation>& observations);

}  // namespace paradl::calibrate
