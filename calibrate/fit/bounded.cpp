#include "calibrate/fit/bounded.hpp"

#include <cmath>

#include <Eigen/Dense>

namespace paradl::calibrate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Bounds {
  const VectorXd &least, &most;
  VectorXd inside(const VectorXd& x) const { return x.cwiseMax(least).cwiseMin(most); }
};

/// One-sided differences, away from a bound.
MatrixXd jacobian(const Residuals& residuals, const VectorXd& at, const VectorXd& there,
                  const Bounds& bounds) {
  constexpr double step = 1e-3;
  MatrixXd out(there.size(), at.size());
  for (Index i = 0; i < at.size(); ++i) {
    VectorXd moved = at;
    moved[i] += at[i] + step <= bounds.most[i] ? step : -step;
    out.col(i) = (residuals(moved) - there) / (moved[i] - at[i]);
  }
  return out;
}

}  // namespace

double soft_l1(const VectorXd& residuals, const VectorXd& weights, double scale) {
  double loss = 0;
  for (Index i = 0; i < residuals.size(); ++i)
    loss += weights[i] * 2 * (std::sqrt(1 + std::pow(residuals[i] / scale, 2)) - 1);
  return loss;
}

BoundedFit fit_bounded(const Residuals& residuals, const VectorXd& weights, double scale,
                       const VectorXd& start, const VectorXd& least, const VectorXd& most) {
  const Bounds bounds{least, most};
  BoundedFit best{.parameters = bounds.inside(start)};
  VectorXd there = residuals(best.parameters);
  best.loss = soft_l1(there, weights, scale);
  const auto attempt = [&](const VectorXd& x) {
    const VectorXd r = residuals(x);
    const double loss = soft_l1(r, weights, scale);
    if (!(loss < best.loss)) return false;
    best = {x, loss};
    there = r;
    return true;
  };

  constexpr int most_steps = 40;
  double damping = 1e-2;
  for (int step = 0; step < most_steps && damping < 1e6; ++step) {
    const MatrixXd J = jacobian(residuals, best.parameters, there, bounds);
    VectorXd w(there.size());  // of the least-squares problem that approximates soft L1 near `there`
    for (Index i = 0; i < w.size(); ++i) w[i] = weights[i] / std::sqrt(1 + std::pow(there[i] / scale, 2));
    const MatrixXd normal = J.transpose() * w.asDiagonal() * J;
    const VectorXd slope = J.transpose() * w.cwiseProduct(there);
    const VectorXd before = best.parameters;
    for (; damping < 1e6; damping *= 4) {
      MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-12).matrix();
      if (attempt(bounds.inside(before - damped.ldlt().solve(slope)))) break;
    }
    damping = std::max(damping / 16, 1e-8);
    if ((best.parameters - before).cwiseAbs().maxCoeff() < 1e-5) break;
  }

  for (double stride = 0.1; stride > 1e-3; stride /= 2)
    for (bool moved = true; moved;) {
      moved = false;
      for (Index i = 0; i < start.size(); ++i)
        for (const double sign : {1.0, -1.0}) {
          VectorXd x = best.parameters;
          x[i] += sign * stride;
          if (attempt(bounds.inside(x))) moved = true;
        }
    }
  return best;
}

}  // namespace paradl::calibrate
