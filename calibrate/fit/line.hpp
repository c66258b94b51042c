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
  double size = 0;  // bytes of the operation's buffer, which decides the range
};

/// Alpha and beta of one line, and its quality.
struct LineFit {
  Estimate alpha, beta;                    // s, s/B
  double r2 = 0;                           // share of the variance of log(seconds) that it explains
  double mean_error = 0, worst_error = 0;  // |fitted - measured| / measured
  std::size_t points = 0, outliers = 0;

  double operator()(const Observation& at) const { return at.messages * alpha.value + at.bytes * beta.value; }
};

/// Needs observations of two different sizes; with one size, all of the time counts as beta if it has bytes.
LineFit fit_line(const std::vector<Observation>& observations);

/// The line of buffers from `from` bytes up to, but not including, `below`.
struct RangeFit {
  double from = 0, below = std::numeric_limits<double>::infinity();
  LineFit line;
};

struct RangeOptions {
  std::size_t most = 5;         // ranges
  std::size_t least_sizes = 3;  // different sizes in a range
  /// Errors below this do not justify another range.
  double negligible = 0.02;
  /// The relative drop in time that is allowed from one range to the next.
  double most_fall = 1;
};

/// Lines by ranges of size. Libraries change their protocol with the size of a message, so one line for all
/// sizes has errors of tens of percent. Dynamic programming over all cuts finds the ranges; the Bayesian
/// information criterion charges each further range for its three parameters. The first range begins at the
/// smallest size, the last has no end.
std::vector<RangeFit> fit_ranges(std::vector<Observation> observations, const RangeOptions& options = {});

/// The time from the range of a size. The first range also covers smaller sizes.
double fitted_seconds(const std::vector<RangeFit>& ranges, const Observation& at);

/// |fitted - measured| / measured, on average.
double mean_error(const std::vector<RangeFit>& ranges, const std::vector<Observation>& observations);

}  // namespace paradl::calibrate
