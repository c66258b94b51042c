#pragma once
#include <vector>

#include <Eigen/Core>

namespace paradl::calibrate {

/// A fitted number and its standard error.
struct Estimate {
  double value = 0, error = 0;
  double interval() const { return 1.96 * error; }  // half-width of the 95 % confidence interval
};

/// The middle one, or the mean of the two in the middle; of at least one value.
double median(std::vector<double> values);

/// What weighted least squares found. Parameters are never negative: one that would be is held at zero.
struct Solution {
  Eigen::VectorXd parameters;
  Eigen::MatrixXd covariance;
  Eigen::VectorXd weights;  // of each row, from 0 (an outlier) to 1
  double scatter = 0;       // a robust standard deviation of the relative residuals

  Estimate estimate(Eigen::Index i) const;
};

/// Solves rows * x = y for x >= 0, all y above zero. Errors count relative to the fitted value, as those of
/// timings do; Tukey's biweight takes what is far off, such as a run beside another job, out of the fit.
/// `start` must be near enough for most rows to lie close: see initial_line.
Solution robust_least_squares(const Eigen::MatrixXd& rows, const Eigen::VectorXd& y, Eigen::VectorXd start);

/// For two columns: the line through two of the points that leaves the least median error. Bad points do not
/// move it as long as they are fewer than half.
Eigen::Vector2d initial_line(const Eigen::MatrixXd& rows, const Eigen::VectorXd& y);

}  // namespace paradl::calibrate
