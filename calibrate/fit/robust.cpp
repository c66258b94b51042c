#include "calibrate/fit/robust.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Dense>

namespace paradl::calibrate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double median_size(const VectorXd& residuals) {
  const VectorXd sizes = residuals.cwiseAbs();
  return median({sizes.begin(), sizes.end()});
}

/// Relative to the fitted value; infinite if that is zero.
VectorXd relative_residuals(const VectorXd& fitted, const VectorXd& y) {
  return (y - fitted).cwiseQuotient(fitted.cwiseMax(1e-300));
}

/// Weighted least squares with negative parameters held at zero. For two or three parameters, fixing the most
/// negative one at a time gives the optimum.
VectorXd solve(const MatrixXd& rows, const VectorXd& y) {
  VectorXd x = VectorXd::Zero(rows.cols());
  std::vector<Index> free(static_cast<std::size_t>(rows.cols()));
  for (Index i = 0; i < rows.cols(); ++i) free[std::size_t(i)] = i;
  while (!free.empty()) {
    const MatrixXd part = rows(Eigen::all, free);
    // Columns (messages and bytes) differ by ten orders of magnitude, so they are scaled to one.
    const VectorXd scale = part.colwise().norm().cwiseMax(1e-300);
    const MatrixXd scaled = part * scale.cwiseInverse().asDiagonal();
    const VectorXd found = scaled.colPivHouseholderQr().solve(y).cwiseQuotient(scale);
    Index worst = 0;
    if (found.minCoeff(&worst) >= 0) {
      for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] = found[Index(i)];
      break;
    }
    free.erase(free.begin() + worst);
  }
  return x;
}

// Tukey's biweight: psi(e) = e (1 - u^2)^2 for u = e / (tuning s) within one, zero beyond. With this tuning
// it is 95 % efficient on clean normal data.
constexpr double tuning = 4.685;
constexpr double sigma_per_median = 1.4826;  // of the absolute value of a normal variable

/// Timings never repeat exactly; a fit that seems exact has too few points.
constexpr double least_scatter = 1e-4;

double weight(double e, double s) {
  const double u = e / (tuning * s);
  return std::abs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
}

/// Covariance of an M-estimate: mean psi^2 / (mean psi')^2 (X'X)^-1.
MatrixXd covariance_of(const MatrixXd& rows, const VectorXd& residuals, double s) {
  const Index n = rows.rows(), k = rows.cols();
  double squares = 0, slope = 0;
  Index inside = 0;
  for (double e : residuals) {
    const double u = e / (tuning * s);
    if (std::abs(u) >= 1) continue;
    ++inside;
    squares += std::pow(e * weight(e, s), 2);
    slope += (1 - u * u) * (1 - 5 * u * u);
  }
  if (inside <= k) {  // no more than parameters: any line fits them, so all rows count
    squares = residuals.squaredNorm();
    slope = double(n);
  }
  const double spread = std::max(squares / double(std::max<Index>(1, n - k)), least_scatter * least_scatter);
  slope = std::max(slope / double(n), 0.1);
  const VectorXd scale = rows.colwise().norm().cwiseMax(1e-300);
  const MatrixXd scaled = rows * scale.cwiseInverse().asDiagonal();
  const MatrixXd inverse = (scaled.transpose() * scaled).completeOrthogonalDecomposition().pseudoInverse();
  return spread / (slope * slope) * scale.cwiseInverse().asDiagonal() * inverse *
         scale.cwiseInverse().asDiagonal();
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate Solution::estimate(Index i) const { return {parameters[i], std::sqrt(covariance(i, i))}; }

Solution robust_least_squares(const MatrixXd& rows, const VectorXd& y, VectorXd start) {
  constexpr int most_steps = 50;
  Solution out{.parameters = std::move(start), .covariance = {}, .weights = {}};
  VectorXd fitted = rows * out.parameters, residuals = relative_residuals(fitted, y);
  for (int step = 0; step < most_steps; ++step) {
    out.scatter = std::max(least_scatter, sigma_per_median * median_size(residuals));
    out.weights = residuals.unaryExpr([&](double e) { return weight(e, out.scatter); });
    const VectorXd factors = out.weights.cwiseSqrt().cwiseQuotient(fitted.cwiseMax(1e-300));
    const VectorXd next = solve(factors.asDiagonal() * rows, factors.cwiseProduct(y));
    const VectorXd change = next - out.parameters;
    out.parameters = next;
    fitted = rows * out.parameters;
    residuals = relative_residuals(fitted, y);
    if (change.cwiseAbs().maxCoeff() == 0 ||
        (change.cwiseAbs().array() <= 1e-9 * next.array().max(1e-300)).all())
      break;
  }
  out.covariance =
      covariance_of(fitted.cwiseMax(1e-300).cwiseInverse().asDiagonal() * rows, residuals, out.scatter);
  return out;
}

Eigen::Vector2d initial_line(const MatrixXd& rows, const VectorXd& y) {
  const Index n = rows.rows();
  // A hundred pairs, and the errors of a hundred points, are enough, because most pairs have two good points.
  // The step shares no factor with the layout of the data, so that all kinds of pairs occur.
  constexpr Index enough = 100;
  const Index stride = n * (n - 1) / 2 <= 4 * enough ? 1 : (n * (n - 1) / 2 / enough) | 1;
  const Index every = std::max<Index>(1, n / enough);
  const Eigen::Matrix<Index, Eigen::Dynamic, 1> seen =
      Eigen::Matrix<Index, Eigen::Dynamic, 1>::LinSpaced((n + every - 1) / every, 0, n - 1);
  const MatrixXd judges = rows(seen, Eigen::all);
  const VectorXd judged = y(seen);
  Eigen::Vector2d best = solve((y.cwiseInverse()).asDiagonal() * rows, VectorXd::Ones(n));
  double least = median_size(relative_residuals(judges * best, judged));
  Index pair = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = i + 1; j < n; ++j) {
      if (pair++ % stride != 0) continue;
      const Eigen::Matrix2d two = rows({i, j}, Eigen::all);
      if (std::abs(two.determinant()) <= 1e-9 * two.row(0).norm() * two.row(1).norm()) continue;
      const Eigen::Vector2d line = two.inverse() * Eigen::Vector2d(y[i], y[j]);
      if (line.minCoeff() < 0) continue;
      const double error = median_size(relative_residuals(judges * line, judged));
      if (error < least) {
        least = error;
        best = line;
      }
    }
  return best;
}

}  // namespace paradl::calibrate
