#include "calibrate/fit/runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <Eigen/Dense>

namespace paradl::calibrate {
namespace {

// `soft` and `trust` were chosen among six pairs by leaving curves of the ABCI runs out, so the accuracy on
// left-out ABCI runs (84.3 to 86.5 % over the pairs, 85.9 % with this one) is slightly optimistic. Likewise
// `part_weight`, from two values: a half gives 86.3 %, a quarter 86.7 %.
constexpr double soft = 0.1;          // residuals above this count linearly, not quadratically
constexpr double step = 0.02;         // of a logarithm, for derivatives
constexpr double trust = 0.1;         // weight of a first guess, with an uncertainty of ...
constexpr double off = 0.55;          // ... a factor of 1.7
constexpr double part_weight = 0.25;  // of a run's computation; its whole iteration has weight 1
constexpr double term_weight = 0.5;   // of one of its terms
/// Parts that take more than this many times the total time of one GPU are not computation alone.
constexpr double not_computation = 3;
constexpr int most_rounds = 25;

void set_measured(Level& level, const std::function<void(Link&)>& change) {
  for (MeasuredLink& measured : level.measured) change(measured.link);
}

/// One measured time of one run.
struct Measurement {
  std::size_t run;  // which of the runs
  double weight = 1;
  std::function<Judged::Part(const Judged&)> part;
};

/// The measured times of a run: its iteration and, with less weight, its parts.
std::vector<Measurement> measurements(const RunAsked& asked, std::size_t index, double weight) {
  std::vector<Measurement> out;
  const Judged run = judge(asked);
  if (!run.partial)
    out.push_back({index, weight, [](const Judged& r) {
                     return Judged::Part{r.measured.base(), r.projected.base()};
                   }});
  const double alone = serial_time(asked.oracle.setting(), asked.about().work.D / run.batch).base();
  if (run.compute && run.compute->measured > 0 && run.compute->measured < not_computation * alone)
    out.push_back({index, part_weight * weight, [](const Judged& r) { return *r.compute; }});
  for (std::size_t t = 0; t < terms; ++t)
    if (run.by_term[t] && run.by_term[t]->measured > 0)
      out.push_back({index, term_weight * weight, [t](const Judged& r) { return *r.by_term[t]; }});
  return out;
}

/// Logarithms of projected / measured, then those of parameter / first guess.
Eigen::VectorXd residuals(std::vector<RunAsked>& runs, const std::vector<Measurement>& measured,
                          const std::vector<RunParameter>& parameters, const Eigen::VectorXd& logs) {
  std::vector<double> values;
  for (Eigen::Index i = 0; i < logs.size(); ++i) values.push_back(std::exp(logs[i]));
  put_values(runs, parameters, values);
  const auto n = Eigen::Index(measured.size());
  Eigen::VectorXd out = Eigen::VectorXd::Zero(n + logs.size());
  std::optional<Judged> run;
  for (Eigen::Index i = 0; i < n; ++i) {
    const Measurement& one = measured[std::size_t(i)];
    if (i == 0 || one.run != measured[std::size_t(i - 1)].run) run = judge(runs[one.run]);
    const Judged::Part part = one.part(*run);
    out[i] = one.weight * std::log(std::max(part.projected, 1e-9) / part.measured);
  }
  for (Eigen::Index i = 0; i < logs.size(); ++i)
    out[n + i] = trust / off * (logs[i] - std::log(parameters[std::size_t(i)].start));
  return out;
}

double soft_cost(const Eigen::VectorXd& r) {
  return ((r / soft).array().square() + 1).sqrt().sum() - double(r.size());
}

/// The measured times of the runs to fit. With `sources_alike`, every source has the same total weight.
std::vector<Measurement> measurements_of(const std::vector<RunAsked>& runs,
                                         const std::function<bool(const MeasuredRun&)>& use,
                                         bool sources_alike) {
  std::map<std::string, double> of_source;
  double used = 0;
  for (const RunAsked& run : runs)
    if (use(*run.run)) ++of_source[run.run->source], ++used;
  const double even = used / double(of_source.size());
  std::vector<Measurement> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!use(*runs[i].run)) continue;
    const double weight = sources_alike ? std::sqrt(even / of_source[runs[i].run->source]) : 1;
    for (Measurement& one : measurements(runs[i], i, weight)) out.push_back(std::move(one));
  }
  return out;
}

/// Soft L1 as weights: the derivative of sqrt(1 + (r/c)^2), divided by that of r^2.
Eigen::VectorXd soft_weights(const Eigen::VectorXd& r) { return ((r / soft).array().square() + 1).rsqrt(); }

/// A point of the search: logarithms of the parameters, residuals there, and their derivatives.
struct Point {
  Eigen::VectorXd x, r;
  Eigen::MatrixXd J;
};

/// Levenberg-Marquardt.
Point least_residuals(std::vector<RunAsked>& runs, const std::vector<Measurement>& measured,
                      const std::vector<RunParameter>& parameters) {
  const auto n = Eigen::Index(parameters.size());
  Point at{.x = Eigen::VectorXd(n), .r = {}, .J = {}};
  for (Eigen::Index i = 0; i < n; ++i) at.x[i] = std::log(parameters[std::size_t(i)].start);
  at.r = residuals(runs, measured, parameters, at.x);
  at.J.resize(at.r.size(), n);
  double damping = 1e-2;
  for (int round = 0; round < most_rounds; ++round) {
    for (Eigen::Index i = 0; i < n; ++i) {
      Eigen::VectorXd moved = at.x;
      moved[i] += step;
      at.J.col(i) = (residuals(runs, measured, parameters, moved) - at.r) / step;
    }
    const Eigen::VectorXd w = soft_weights(at.r);
    const Eigen::MatrixXd H = at.J.transpose() * w.asDiagonal() * at.J;
    const Eigen::VectorXd g = at.J.transpose() * w.asDiagonal() * at.r;
    bool better = false;
    double moved_by = 0;
    for (int attempt = 0; attempt < 6 && !better; ++attempt, damping *= 4) {
      Eigen::MatrixXd damped = H;
      damped.diagonal().array() += damping * (H.diagonal().array() + 1e-3);
      Eigen::VectorXd next = at.x - damped.ldlt().solve(g);
      for (Eigen::Index i = 0; i < n; ++i)
        next[i] = std::min(next[i], std::log(parameters[std::size_t(i)].most));
      const Eigen::VectorXd there = residuals(runs, measured, parameters, next);
      if (soft_cost(there) >= soft_cost(at.r)) continue;
      better = true;
      moved_by = (next - at.x).cwiseAbs().maxCoeff();
      at.x = next;
      at.r = there;
      damping /= 12;
    }
    if (!better || moved_by < 1e-4) break;
  }
  return at;
}

/// Values and standard errors at the end of the search.
RunFit fit_at(const Point& at, const std::vector<Measurement>& measured,
              const std::vector<RunParameter>& parameters) {
  const auto n = Eigen::Index(parameters.size()), all = Eigen::Index(measured.size());
  const Eigen::VectorXd w = soft_weights(at.r);
  double weights = 0;
  for (const Measurement& one : measured) weights += one.weight * one.weight;
  const double freedom = std::max(1.0, weights - double(n));
  const double variance = (w.array() * at.r.array().square()).head(all).sum() / freedom;
  const Eigen::MatrixXd H = at.J.transpose() * w.asDiagonal() * at.J;
  const Eigen::MatrixXd covariance =
      variance * (H + 1e-9 * Eigen::MatrixXd::Identity(n, n)).ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  RunFit fit;
  for (Eigen::Index i = 0; i < n; ++i) {
    fit.values.push_back(std::exp(at.x[i]));
    const double error = std::sqrt(std::max(0.0, covariance(i, i)));
    const bool bound = at.x[i] > std::log(parameters[std::size_t(i)].most) - 1e-6;
    fit.errors.push_back(bound || error > 1 ? std::numeric_limits<double>::infinity() : error);
  }
  fit.scatter = std::sqrt(at.r.head(all).squaredNorm() / weights);
  return fit;
}

}  // namespace

std::vector<RunParameter> link_parameters() {
  const auto bandwidth_of = [](bool between) {
    return [between](Case& about, double value) {
      Machine& machine = about.machine;
      for (std::size_t k = between ? 1 : 0; k < (between ? machine.levels.size() : 1); ++k)
        set_measured(machine.levels[k], [&](Link& link) { link.beta = SecondsPerByte{1 / value}; });
    };
  };
  return {
      {"node bandwidth", "GB/s", 75e9, 150e9, 1e9, bandwidth_of(false)},
      {"port bandwidth", "GB/s", 6.25e9, 12.5e9, 1e9, bandwidth_of(true)},
      {"latency between nodes", "us", 25e-6, 1e-3, 1e-6,
       [](Case& about, double value) {
         Machine& machine = about.machine;
         for (std::size_t k = 1; k < machine.levels.size(); ++k)
           set_measured(machine.levels[k], [&](Link& link) { link.alpha = Seconds{value}; });
       }},
      {"staged bandwidth", "GB/s", 1e9, 12.5e9, 1e9,
       [](Case& about, double value) { about.machine.host->staged->bandwidth = Bandwidth{value}; }},
      {"staged copies", "GB/s", 3e9, 16e9, 1e9,
       [](Case& about, double value) { about.machine.host->staged->copies = Bandwidth{value}; }},
      {"split-layer", "ms", 1e-3, 1, 1e-3,
       [](Case& about, double value) { about.training.framework.split_layer = Seconds{value}; }},
      {"tensor", "us", 100e-6, 1, 1e-6,
       [](Case& about, double value) { about.training.framework.tensor = Seconds{value}; }},
      {"packing", "GB/s", 10e9, 900e9, 1e9,
       [](Case& about, double value) { about.training.framework.packing = SecondsPerByte{1 / value}; }},
  };
}

std::vector<RunParameter> kernel_parameters() {
  const auto fitted = [](double KernelParameters::*which) {
    return [which](Case& about, double value) {
      auto device = std::make_shared<KernelDevice>(*about.times.kernels);
      device->fitted.*which = value;
      about.times.kernels = std::move(device);
    };
  };
  // Bounds: the highest efficiencies of large products and copies on record.
  return {{"compute", "", 0.85, 1, 1, fitted(&KernelParameters::compute)},
          {"ends", "", 100, 400, 1, fitted(&KernelParameters::ends)},
          {"tile", "", 15, 60, 1, fitted(&KernelParameters::tile)},
          {"unaligned", "", 0.5, 1, 1, fitted(&KernelParameters::unaligned)},
          {"stream", "", 0.85, 0.92, 1, fitted(&KernelParameters::stream)},
          {"sync", "us", 50e-6, 1e-3, 1e-6,
           [](Case& about, double value) { about.training.framework.sync = Seconds{value}; }},
          {"host", "us", 100e-6, 1e-3, 1e-6,
           [](Case& about, double value) { about.training.framework.host = Seconds{value}; }}};
}

void put_values(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::vector<double>& values) {
  for (RunAsked& run : runs) {
    Case changed = run.about();
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].put(changed, values[i]);
    run.oracle = Oracle(std::move(changed), run.oracle.question());
  }
}

RunFit fit_runs(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::function<bool(const MeasuredRun&)>& use, bool sources_alike) {
  const auto measured = measurements_of(runs, use, sources_alike);
  RunFit fit = fit_at(least_residuals(runs, measured, parameters), measured, parameters);
  put_values(runs, parameters, fit.values);
  return fit;
}

}  // namespace paradl::calibrate
