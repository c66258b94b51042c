#include "calibrate/kernels/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "calibrate/fit/bounded.hpp"
#include "calibrate/fit/robust.hpp"

namespace paradl::calibrate {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double loss_scale = 0.1;  // errors far above ten percent count linearly, not quadratically

template <double KernelParameters::*Member>
constexpr FittedParameter share(std::string_view name, double least, double most) {
  return {name, least, most, [](const KernelParameters& p) { return p.*Member; },
          [](KernelParameters& p, double v) { p.*Member = v; }};
}

VectorXd logs_of(const std::vector<FittedParameter>& list, const KernelParameters& p) {
  VectorXd out(Index(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) out[Index(i)] = std::log(list[i].get(p));
  return out;
}

KernelDevice with(KernelDevice device, const std::vector<FittedParameter>& list, const VectorXd& logs) {
  for (std::size_t i = 0; i < list.size(); ++i) list[i].set(device.fitted, std::exp(logs[Index(i)]));
  return device;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) out[order[j]] = double(i + end - 1) / 2;  // ties share their rank
    i = end;
  }
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = double(a.size());
  const double ma = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

ErrorsByClass by_class(const std::vector<KernelTiming>& timings, const std::vector<double>& modelled) {
  ErrorsByClass out;
  for (std::size_t kind = 0; kind < out.size(); ++kind) {
    std::vector<double> predicted, measured;
    for (std::size_t i = 0; i < timings.size(); ++i)
      if (std::size_t(timings[i].kind) == kind) {
        predicted.push_back(modelled[i]);
        measured.push_back(timings[i].seconds);
      }
    if (!predicted.empty()) out[kind] = errors_of(predicted, measured);
  }
  return out;
}

}  // namespace

std::vector<FittedParameter> fitted_parameters(const KernelDevice& device) {
  using P = KernelParameters;
  std::vector<FittedParameter> list{share<&P::compute>("compute", 0.4, 1.0),
                                    share<&P::tile>("tile", 0.1, 60),
                                    share<&P::memory>("memory", 0.3, 1.0),
                                    {"launch", 0.5e-6, 30e-6, [](const P& p) { return p.launch.base(); },
                                     [](P& p, double v) { p.launch = Seconds{v}; }},
                                    share<&P::forward>("forward", 0.3, 1.2),
                                    share<&P::backward_data>("backward-data", 0.3, 1.2),
                                    share<&P::backward_weights>("backward-weights", 0.3, 1.2),
                                    share<&P::strided>("strided", 0.1, 1.5)};
  if (!device.tensor_cores) list.push_back(share<&P::winograd>("winograd", 0.3, 1.2));
  return list;
}

KernelParameters fit_kernels(const KernelDevice& device, const std::vector<KernelTiming>& timings) {
  const std::vector<FittedParameter> list = fitted_parameters(device);
  std::array<double, kernel_class_names.size()> count{};
  for (const KernelTiming& t : timings) count[std::size_t(t.kind)] += 1;
  VectorXd weights(Index(timings.size())), least(Index(list.size())), most(Index(list.size()));
  for (std::size_t i = 0; i < timings.size(); ++i)
    weights[Index(i)] = 1 / count[std::size_t(timings[i].kind)];
  for (std::size_t i = 0; i < list.size(); ++i) {
    least[Index(i)] = std::log(list[i].least);
    most[Index(i)] = std::log(list[i].most);
  }
  const Residuals residuals = [&](const VectorXd& logs) {
    const KernelDevice here = with(device, list, logs);
    VectorXd out(Index(timings.size()));
    for (std::size_t i = 0; i < timings.size(); ++i)
      out[Index(i)] = std::log(modelled_seconds(here, timings[i]) / timings[i].seconds);
    return out;
  };
  // The loss is flat and has kinks: the best of several starts is taken.
  BoundedFit best{.parameters = {}, .loss = std::numeric_limits<double>::infinity()};
  for (const double tile : {2.0, 10.0, 30.0})
    for (const double memory : {0.5, 0.9}) {
      KernelParameters start = device.fitted;
      start.tile = tile;
      start.memory = memory;
      const BoundedFit fit = fit_bounded(residuals, weights, loss_scale, logs_of(list, start), least, most);
      if (fit.loss < best.loss) best = fit;
    }
  return with(device, list, best.parameters).fitted;
}

KernelErrors errors_of(const std::vector<double>& modelled, const std::vector<double>& measured) {
  std::vector<double> errors, logs;
  for (std::size_t i = 0; i < modelled.size(); ++i) {
    errors.push_back(std::abs(modelled[i] / measured[i] - 1));
    logs.push_back(std::log(modelled[i] / measured[i]));
  }
  KernelErrors out{.kernels = errors.size(), .median = median(errors), .bias = median(logs)};
  std::ranges::sort(errors);
  out.ninetieth = errors[std::size_t(0.9 * double(errors.size() - 1))];
  out.rank_correlation = correlation(ranks(modelled), ranks(measured));
  return out;
}

ErrorsByClass kernel_errors(const KernelDevice& device, const std::vector<KernelTiming>& timings) {
  std::vector<double> modelled;
  for (const KernelTiming& t : timings) modelled.push_back(modelled_seconds(device, t));
  return by_class(timings, modelled);
}

ErrorsByClass cross_validate(const KernelDevice& device, const std::vector<KernelTiming>& timings, int folds,
                             unsigned seed) {
  std::map<std::string, int> fold;
  for (const KernelTiming& t : timings) fold.emplace(t.shape, 0);
  std::vector<std::string> shapes;
  for (const auto& [shape, _] : fold) shapes.push_back(shape);
  std::mt19937 random(seed);
  for (std::size_t i = shapes.size(); i > 1; --i) std::swap(shapes[i - 1], shapes[random() % i]);
  for (std::size_t i = 0; i < shapes.size(); ++i) fold[shapes[i]] = int(i % std::size_t(folds));

  std::vector<double> modelled(timings.size());
  for (int left_out = 0; left_out < folds; ++left_out) {
    std::vector<KernelTiming> others;
    for (const KernelTiming& t : timings)
      if (fold[t.shape] != left_out) others.push_back(t);
    KernelDevice fitted = device;
    fitted.fitted = fit_kernels(device, others);
    for (std::size_t i = 0; i < timings.size(); ++i)
      if (fold[timings[i].shape] == left_out) modelled[i] = modelled_seconds(fitted, timings[i]);
  }
  return by_class(timings, modelled);
}

}  // namespace paradl::calibrate
