#include "calibrate/fit/runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <Eigen/Dense>

namespace paradl::calibrate {
namespace {

// `soft` and `trust` were chosen among six pairs by leaving curves of the ABCI runs out, so that what leaving
// out tells of these runs (84.3 to 86.5 % over the pairs, 85.9 % with this one) is a little too good.
constexpr double soft = 0.1;         // residuals beyond this count by their size, not by its square
constexpr double step = 0.02;        // of a logarithm, for derivatives
constexpr double trust = 0.1;        // what a first guess weighs, which may be off by ...
constexpr double off = 0.55;         // ... a factor of 1.7
constexpr double part_weight = 0.5;  // of a run's computation beside its whole iteration
/// Parts that take so many times what one GPU needs for everything are not computation alone.
constexpr double not_computation = 3;
constexpr int most_rounds = 25;

void set_measured(Level& level, const std::function<void(Link&)>& change) {
  for (MeasuredLink& measured : level.measured) change(measured.link);
}

struct Used {
  std::size_t run;
  double weight = 1;
};

Eigen::VectorXd residuals(std::vector<RunAsked>& runs, const std::vector<Used>& used,
                          const std::vector<RunParameter>& parameters, const Eigen::VectorXd& logs) {
  std::vector<double> values;
  for (Eigen::Index i = 0; i < logs.size(); ++i) values.push_back(std::exp(logs[i]));
  put_values(runs, parameters, values);
  const auto n = Eigen::Index(used.size());
  Eigen::VectorXd out = Eigen::VectorXd::Zero(2 * n + logs.size());
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto [index, weight] = used[std::size_t(i)];
    const RunAsked& asked = runs[index];
    const Judged run = judge(asked);
    out[i] = weight * std::log(run.projected / run.measured);
    const double alone = serial_time(asked.ask->setting(), asked.ask->work.D / run.batch).base();
    if (run.compute && run.compute->measured > 0 && run.compute->measured < not_computation * alone)
      out[n + i] = weight * part_weight * std::log(run.compute->projected / run.compute->measured);
  }
  for (Eigen::Index i = 0; i < logs.size(); ++i)
    out[2 * n + i] = trust / off * (logs[i] - std::log(parameters[std::size_t(i)].start));
  return out;
}

double soft_cost(const Eigen::VectorXd& r) {
  return ((r / soft).array().square() + 1).sqrt().sum() - double(r.size());
}

}  // namespace

std::vector<RunParameter> link_parameters() {
  const auto bandwidth_of = [](bool between) {
    return [between](Ask& ask, double value) {
      Machine& machine = ask.machine;
      for (std::size_t k = between ? 1 : 0; k < (between ? machine.levels.size() : 1); ++k)
        set_measured(machine.levels[k], [&](Link& link) { link.beta = SecondsPerByte{1 / value}; });
    };
  };
  return {
      {"node bandwidth", "GB/s", 75e9, 150e9, 1e9, bandwidth_of(false)},
      {"port bandwidth", "GB/s", 6.25e9, 12.5e9, 1e9, bandwidth_of(true)},
      {"latency between nodes", "us", 25e-6, 1e-3, 1e-6,
       [](Ask& ask, double value) {
         Machine& machine = ask.machine;
         for (std::size_t k = 1; k < machine.levels.size(); ++k)
           set_measured(machine.levels[k], [&](Link& link) { link.alpha = Seconds{value}; });
       }},
      {"staged bandwidth", "GB/s", 1e9, 12.5e9, 1e9,
       [](Ask& ask, double value) { ask.machine.host->staged->bandwidth = Bandwidth{value}; }},
      {"staged copies", "GB/s", 3e9, 16e9, 1e9,
       [](Ask& ask, double value) { ask.machine.host->staged->copies = Bandwidth{value}; }},
      {"split-layer", "ms", 1e-3, 1, 1e-3,
       [](Ask& ask, double value) { ask.training.framework.split_layer = Seconds{value}; }},
      {"tensor", "us", 100e-6, 1, 1e-6,
       [](Ask& ask, double value) { ask.training.framework.tensor = Seconds{value}; }},
      {"leader-tensor", "us", 100e-6, 1, 1e-6,
       [](Ask& ask, double value) { ask.training.framework.leader_tensor = Seconds{value}; }},
      {"packing", "GB/s", 10e9, 900e9, 1e9,
       [](Ask& ask, double value) { ask.training.framework.packing = SecondsPerByte{1 / value}; }},
  };
}

std::vector<RunParameter> kernel_parameters() {
  const auto fitted = [](double KernelParameters::*which) {
    return [which](Ask& ask, double value) {
      auto device = std::make_shared<KernelDevice>(*ask.times.kernels);
      device->fitted.*which = value;
      ask.times.kernels = std::move(device);
    };
  };
  // Bounds: what large products and copies were ever seen to reach.
  return {{"compute", "", 0.85, 1, 1, fitted(&KernelParameters::compute)},
          {"ends", "", 100, 400, 1, fitted(&KernelParameters::ends)},
          {"tile", "", 15, 60, 1, fitted(&KernelParameters::tile)},
          {"unaligned", "", 0.5, 1, 1, fitted(&KernelParameters::unaligned)},
          {"stream", "", 0.85, 0.92, 1, fitted(&KernelParameters::stream)},
          {"sync", "us", 50e-6, 1e-3, 1e-6,
           [](Ask& ask, double value) { ask.training.framework.sync = Seconds{value}; }},
          {"host", "us", 100e-6, 1e-3, 1e-6,
           [](Ask& ask, double value) { ask.training.framework.host = Seconds{value}; }}};
}

void put_values(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::vector<double>& values) {
  for (RunAsked& run : runs) {
    Ask& ask = *run.ask;
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].put(ask, values[i]);
    ask.planner = std::make_unique<Planner>(ask.setting());
  }
}

RunFit fit_runs(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::function<bool(const MeasuredRun&)>& use, bool sources_alike) {
  std::vector<Used> used;
  std::map<std::string, double> of_source;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (use(*runs[i].run)) {
      used.push_back({i});
      ++of_source[runs[i].run->source];
    }
  const double even = double(used.size()) / double(of_source.size());
  for (Used& one : used)
    if (sources_alike) one.weight = std::sqrt(even / of_source[runs[one.run].run->source]);
  const auto n = Eigen::Index(parameters.size());
  Eigen::VectorXd start(n);
  for (Eigen::Index i = 0; i < n; ++i) start[i] = std::log(parameters[std::size_t(i)].start);

  Eigen::VectorXd x = start, r = residuals(runs, used, parameters, x);
  Eigen::MatrixXd J(r.size(), n);
  double damping = 1e-2;
  for (int round = 0; round < most_rounds; ++round) {
    for (Eigen::Index i = 0; i < n; ++i) {
      Eigen::VectorXd moved = x;
      moved[i] += step;
      J.col(i) = (residuals(runs, used, parameters, moved) - r) / step;
    }
    // Soft L1 as weights: the derivative of sqrt(1 + (r/c)^2) over that of r^2.
    const Eigen::VectorXd w = ((r / soft).array().square() + 1).rsqrt();
    const Eigen::MatrixXd H = J.transpose() * w.asDiagonal() * J;
    const Eigen::VectorXd g = J.transpose() * w.asDiagonal() * r;
    bool better = false;
    double moved_by = 0;
    for (int attempt = 0; attempt < 6 && !better; ++attempt, damping *= 4) {
      Eigen::MatrixXd damped = H;
      damped.diagonal().array() += damping * (H.diagonal().array() + 1e-3);
      Eigen::VectorXd next = x - damped.ldlt().solve(g);
      for (Eigen::Index i = 0; i < n; ++i)
        next[i] = std::min(next[i], std::log(parameters[std::size_t(i)].most));
      const Eigen::VectorXd there = residuals(runs, used, parameters, next);
      if (soft_cost(there) >= soft_cost(r)) continue;
      better = true;
      moved_by = (next - x).cwiseAbs().maxCoeff();
      x = next;
      r = there;
      damping /= 12;
    }
    if (!better || moved_by < 1e-4) break;
  }
  RunFit fit;
  const Eigen::VectorXd w = ((r / soft).array().square() + 1).rsqrt();
  const double freedom = std::max<double>(1, double(used.size()) - double(n));
  const double variance = (w.array() * r.array().square()).head(Eigen::Index(used.size())).sum() / freedom;
  const Eigen::MatrixXd H = J.transpose() * w.asDiagonal() * J;
  const Eigen::MatrixXd covariance =
      variance * (H + 1e-9 * Eigen::MatrixXd::Identity(n, n)).ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  for (Eigen::Index i = 0; i < n; ++i) {
    fit.values.push_back(std::exp(x[i]));
    const double error = std::sqrt(std::max(0.0, covariance(i, i)));
    const bool bound = x[i] > std::log(parameters[std::size_t(i)].most) - 1e-6;
    fit.errors.push_back(bound || error > 1 ? std::numeric_limits<double>::infinity() : error);
  }
  fit.scatter = std::sqrt(r.head(Eigen::Index(used.size())).squaredNorm() / double(used.size()));
  put_values(runs, parameters, fit.values);
  return fit;
}

}  // namespace paradl::calibrate
