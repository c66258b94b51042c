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

/// The loss of soft L1: like a square for residuals well below `scale`, like their size far above it.
/// `weights` multiply what each residual adds.
double soft_l1(const Eigen::VectorXd& residuals, const Eigen::VectorXd& weights, double scale);

/// Parameters between bounds that make the soft-L1 loss least: Levenberg-Marquardt steps on differences, then
/// a search along each parameter, which takes the kinks of a model that picks the fastest of several kernels.
/// The same input gives the same numbers.
BoundedFit fit_bounded(const Residuals& residuals, const Eigen::VectorXd& weights, double scale,
                       const Eigen::VectorXd& start, const Eigen::VectorXd& least,
                       const Eigen::VectorXd& most);

}  // namespace paradl::calibrate
