#pragma once
#include <vector>

#include <Eigen/Core>

namespace paradl::calibrate {

/// A fitted number and its standard error.
struct Estimate {
  double value = 0, error = 0;
  double interval() const { return 1.96 * error; }  // half-width of the 95 % confidence interval
};

/// The median of at least one value.
double median(std::vector<double> values);

/// The result of weighted least squares. Parameters that would be negative are held at zero.
struct Solution {
  Eigen::VectorXd parameters;
  Eigen::MatrixXd covariance;
  Eigen::VectorXd weights;  // of each row, from 0 (an outlier) to 1
  double scatter = 0;       // a robust standard deviation of the relative residuals

  Estimate estimate(Eigen::Index i) const;
};

/// Solves rows * x = y for x >= 0 and y > 0. Errors are relative to the fitted value, as for timings. Tukey's
/// biweight removes outliers, such as a run beside another job. `start` must be close to most rows: see
/// initial_line.
Solution robust_least_squares(const Eigen::MatrixXd& rows, const Eigen::VectorXd& y, Eigen::VectorXd start);

/// For two columns: the line through two of the points that has the least median error. Outliers do not move
/// it as long as they are fewer than half.
Eigen::Vector2d initial_line(const Eigen::MatrixXd& rows, const Eigen::VectorXd& y);

}  // namespace paradl::calibrate
