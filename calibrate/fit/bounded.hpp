#pragma once
#include <functional>

#include <Eigen/Core>

namespace paradl::calibrate {

/// Residuals of a model by its parameters.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

struct BoundedFit {
  Eigen::VectorXd parameters;
  double loss = 0;
};

/// The soft L1 loss: quadratic for residuals well below `scale`, linear far above it. `weights` multiply the
/// terms of the residuals.
double soft_l1(const Eigen::VectorXd& residuals, const Eigen::VectorXd& weights, double scale);

/// Minimizes the soft L1 loss between bounds: Levenberg-Marquardt steps with finite differences, then a
/// search along each parameter, which handles the kinks of a model that picks the fastest of several kernels.
/// Deterministic.
BoundedFit fit_bounded(const Residuals& residuals, const Eigen::VectorXd& weights, double scale,
                       const Eigen::VectorXd& start, const Eigen::VectorXd& least,
                       const Eigen::VectorXd& most);

}  // namespace paradl::calibrate
