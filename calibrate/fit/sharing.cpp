#include "calibrate/fit/sharing.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/line.hpp"
#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

using Eigen::Index;

LineFit line_of(const std::vector<SharedObservation>& observations, int flows) {
  std::vector<Observation> own;
  for (const SharedObservation& o : observations)
    if (o.flows == flows) own.push_back({.bytes = o.bytes, .seconds = o.seconds, .size = o.bytes});
  return fit_line(own);
}

/// phi = gamma_k / gamma_1, both fitted together.
Estimate ratio(const Solution& fit, Index k) {
  const double one = fit.parameters[1], many = fit.parameters[k];
  if (!(one > 0) || !(many > 0)) return {one > 0 ? many / one : 1, 0};
  const auto& v = fit.covariance;
  const double relative = v(k, k) / (many * many) + v(1, 1) / (one * one) - 2 * v(k, 1) / (many * one);
  return {many / one, many / one * std::sqrt(std::max(0.0, relative))};
}

}  // namespace

SharingFit fit_sharing(const std::vector<SharedObservation>& observations) {
  std::set<int> counts;
  for (const SharedObservation& o : observations) counts.insert(o.flows);
  if (!counts.contains(1))
    throw UsageError("contention needs timings of one flow alone", "time one flow, too");

  // seconds = alpha + bytes gamma_k: columns are alpha, gamma_1, gamma_2, ...
  const std::vector<int> flows(counts.begin(), counts.end());
  const auto n = Index(observations.size());
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(n, Index(flows.size()) + 1);
  Eigen::VectorXd y(n), start(rows.cols());
  for (Index i = 0; i < n; ++i) {
    const SharedObservation& o = observations[std::size_t(i)];
    rows(i, 0) = 1;
    rows(i, 1 + std::distance(counts.begin(), counts.find(o.flows))) = o.bytes;
    y[i] = o.seconds;
  }
  start[0] = line_of(observations, 1).alpha.value;
  for (std::size_t k = 0; k < flows.size(); ++k)
    start[Index(k) + 1] = line_of(observations, flows[k]).beta.value;
  const Solution fit = robust_least_squares(rows, y, start);

  SharingFit out{.alpha = fit.estimate(0), .beta = fit.estimate(1), .phi = {{1, {1, 0}}}};
  double products = 0, squares = 0;
  for (std::size_t k = 1; k < flows.size(); ++k) {
    const Estimate phi = ratio(fit, Index(k) + 1);
    out.phi.push_back({flows[k], phi});
    const double more = flows[k] - 1, weight = 1 / (phi.value * phi.value);
    products += weight * more * (phi.value - 1);
    squares += weight * more * more;
  }
  if (squares > 0) {
    out.slope.value = products / squares;
    double left = 0;
    for (const Sharing& s : out.phi) left += std::pow((s.phi.value - out(s.flows)) / s.phi.value, 2);
    const double known = std::max(1.0, double(out.phi.size()) - 2);
    out.slope.error = std::sqrt(left / known / squares);
    if (out.phi.size() == 2) out.slope.error = out.phi[1].phi.error / (flows[1] - 1);
  }
  out.mean_error = ((rows * fit.parameters - y).cwiseQuotient(y)).cwiseAbs().mean();
  return out;
}

}  // namespace paradl::calibrate
