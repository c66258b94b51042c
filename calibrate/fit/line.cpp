#include "calibrate/fit/line.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

using Index = Eigen::Index;

/// Explained share of the variance of the logarithms, so that every size has the same weight.
double explained(const std::vector<Observation>& observations, const LineFit& line) {
  double mean = 0;
  for (const Observation& o : observations) mean += std::log(o.seconds) / double(observations.size());
  double left = 0, all = 0;
  for (const Observation& o : observations) {
    left += std::pow(std::log(o.seconds / line(o)), 2);
    all += std::pow(std::log(o.seconds) - mean, 2);
  }
  return all > 0 ? std::max(0.0, 1 - left / all) : 0;
}

std::vector<Observation> sorted(std::vector<Observation> all) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.size, a.messages, a.bytes) < std::tie(b.size, b.messages, b.bytes);
  });
  return all;
}

/// The median of repeated observations, which is enough to find the cuts.
std::vector<Observation> typical(const std::vector<Observation>& all) {
  std::vector<Observation> out;
  for (std::size_t i = 0, j = 0; i < all.size(); i = j) {
    std::vector<double> seconds;
    for (j = i; j < all.size() && all[j].size == all[i].size && all[j].messages == all[i].messages &&
                all[j].bytes == all[i].bytes;
         ++j)
      seconds.push_back(all[j].seconds);
    out.push_back(all[i]);
    out.back().seconds = median(std::move(seconds));
  }
  return out;
}

/// Observations by size, in bins; cuts are between bins.
struct Bins {
  std::vector<Observation> all;
  std::vector<std::size_t> begin;  // of each bin, and the end of the last
  std::size_t least = 3;           // bins that make a range

  std::size_t count() const { return begin.size() - 1; }
  std::vector<Observation> part(std::size_t first, std::size_t last) const {
    return {all.begin() + std::ptrdiff_t(begin[first]), all.begin() + std::ptrdiff_t(begin[last])};
  }
};

/// One bin per size; if there are very many sizes, a few sizes per bin.
Bins binned(std::vector<Observation> all, std::size_t least_sizes) {
  constexpr std::size_t most = 40;
  Bins out{.all = std::move(all), .begin = {}, .least = least_sizes};
  for (std::size_t i = 0; i < out.all.size(); ++i)
    if (i == 0 || out.all[i].size != out.all[i - 1].size) out.begin.push_back(i);
  const std::size_t together = (out.begin.size() + most - 1) / most;
  if (together > 1) {
    std::vector<std::size_t> fewer;
    for (std::size_t i = 0; i < out.begin.size(); i += together) fewer.push_back(out.begin[i]);
    out.begin = fewer;
    out.least = (least_sizes + together - 1) / together;
  }
  out.begin.push_back(out.all.size());
  return out;
}

/// Tukey's loss of one relative error e at scatter s, in units of squared standard deviations: e^2/s^2 where
/// small, at most 7.3.
double loss(double e, double s) {
  constexpr double most = 4.685 * 4.685 / 3;
  const double u = e / (4.685 * s);
  return std::abs(u) < 1 ? most * (1 - std::pow(1 - u * u, 3)) : most;
}

constexpr double never = std::numeric_limits<double>::infinity();

/// The cheapest cut of all sizes up to the end of a range, and where the range before it begins.
struct Step {
  double price = never;
  std::size_t before = 0;
};

/// Finds the best cuts; a cut costs the errors of the lines of its parts.
class Cuts {
 public:
  Cuts(const Bins& data, const RangeOptions& options) : data_(data), options_(options) {
    const std::size_t n = data.count();
    lines_.resize(n * (n + 1));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j <= n; ++j)
        if (allowed(i, j)) lines_[i * (n + 1) + j] = fit_line(data.part(i, j));
  }

  const LineFit& line(std::size_t first, std::size_t last) const {
    return lines_[first * (data_.count() + 1) + last];
  }

  /// Best cuts into 1, 2, ... ranges: the sizes at which each begins, and the end. `error` is the cost of one
  /// observation with relative error e.
  template <class Error>
  std::vector<std::pair<double, std::vector<std::size_t>>> best(Error error) const {
    const std::size_t n = data_.count();
    const auto at = [n](std::size_t first, std::size_t end) { return first * (n + 1) + end; };
    std::vector<double> alone(n * (n + 1), never);
    for (std::size_t first = 0; first < n; ++first)
      for (std::size_t end = first + 1; end <= n; ++end)
        if (allowed(first, end) && can_go_on(first, end)) alone[at(first, end)] = priced(first, end, error);

    std::vector<std::vector<Step>> steps;  // by the number of ranges
    std::vector<std::pair<double, std::vector<std::size_t>>> out;
    for (std::size_t ranges = 1; ranges <= options_.most; ++ranges) {
      steps.emplace_back(n * (n + 1));
      for (std::size_t first = 0; first < n; ++first)
        for (std::size_t end = first + 1; end <= n; ++end) {
          Step& step = steps.back()[at(first, end)];
          if (ranges == 1 && first == 0) step.price = alone[at(0, end)];
          if (ranges == 1 || alone[at(first, end)] == never) continue;
          for (std::size_t before = 0; before < first; ++before) {
            const double price = steps[ranges - 2][at(before, first)].price + alone[at(first, end)];
            if (price < step.price && may_follow(before, first, end)) step = {price, before};
          }
        }
      std::size_t last = 0;
      for (std::size_t first = 1; first < n; ++first)
        if (steps.back()[at(first, n)].price < steps.back()[at(last, n)].price) last = first;
      const double price = steps.back()[at(last, n)].price;
      if (price == never) break;
      std::vector<std::size_t> cuts{n, last};
      for (std::size_t k = ranges; k > 1; --k)
        cuts.push_back(steps[k - 1][at(cuts.back(), cuts[cuts.size() - 2])].before);
      out.emplace_back(price, std::vector(cuts.rbegin(), cuts.rend()));
    }
    return out;
  }

  /// The noise of the measurement: the scatter that remains if cuts cost nothing, corrected for the
  /// parameters of this many ranges.
  double noise() const {
    const auto at = best([](double e) { return std::min(std::abs(e), 0.2); }).back().second;
    std::vector<double> errors;
    for (std::size_t k = 0; k + 1 < at.size(); ++k)
      for (const Observation& o : data_.part(at[k], at[k + 1]))
        errors.push_back(std::abs(o.seconds / line(at[k], at[k + 1])(o) - 1));
    const auto n = double(errors.size()), eaten = 3 * double(at.size() - 1) - 1;
    return 1.4826 * median(errors) * std::sqrt(n / std::max(n - eaten, n / 3));
  }

 private:
  bool allowed(std::size_t first, std::size_t last) const {
    return last - first >= data_.least || (first == 0 && last == data_.count());
  }
  /// Small buffers may all take the same time. In later ranges a line that does not rise, for example after a
  /// burst of other load, would mean an unlimited bandwidth.
  bool can_go_on(std::size_t first, std::size_t last) const {
    return first == 0 || line(first, last).beta.value > 0;
  }
  /// A larger buffer may take less time where a library changes its protocol.
  bool may_follow(std::size_t before, std::size_t first, std::size_t end) const {
    const Observation& border = data_.all[data_.begin[first]];
    return line(first, end)(border) >= (1 - options_.most_fall) * line(before, first)(border);
  }
  template <class Error>
  double priced(std::size_t first, std::size_t last, Error error) const {
    double sum = 0;
    const LineFit& fit = line(first, last);
    for (std::size_t i = data_.begin[first]; i < data_.begin[last]; ++i)
      sum += error(data_.all[i].seconds / fit(data_.all[i]) - 1);
    return sum;
  }

  const Bins& data_;
  const RangeOptions& options_;
  std::vector<LineFit> lines_;
};

}  // namespace

LineFit fit_line(const std::vector<Observation>& observations) {
  const auto n = Index(observations.size());
  if (n == 0) throw UsageError("there are no timings to fit", "give at least one timing");
  Eigen::MatrixXd rows(n, 2);
  Eigen::VectorXd y(n);
  for (Index i = 0; i < n; ++i) {
    const Observation& o = observations[std::size_t(i)];
    rows.row(i) << o.messages, o.bytes;
    y[i] = o.seconds;
  }
  const Solution solution = robust_least_squares(rows, y, initial_line(rows, y));
  LineFit out{.alpha = solution.estimate(0), .beta = solution.estimate(1), .points = observations.size()};
  for (const Observation& o : observations) {
    const double error = std::abs(out(o) - o.seconds) / o.seconds;
    out.mean_error += error / double(n);
    out.worst_error = std::max(out.worst_error, error);
  }
  out.outliers = std::size_t((solution.weights.array() <= 0).count());
  out.r2 = explained(observations, out);
  return out;
}

std::vector<RangeFit> fit_ranges(std::vector<Observation> observations, const RangeOptions& options) {
  if (observations.empty()) throw UsageError("there are no timings to fit", "give at least one timing");
  const std::vector<Observation> all = sorted(std::move(observations));
  const Bins data = binned(typical(all), options.least_sizes);
  const Cuts cuts(data, options);
  const auto n = double(data.all.size());

  const double noise = std::max(options.negligible, cuts.noise());
  const auto choices = cuts.best([&](double e) { return loss(e, noise); });
  std::size_t best = 0;
  const auto total = [&](std::size_t i) { return choices[i].first + 3 * std::log(n) * double(i); };
  for (std::size_t i = 1; i < choices.size(); ++i)
    if (total(i) < total(best)) best = i;

  std::vector<RangeFit> out;
  const auto& at = choices[best].second;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    RangeFit range{.from = data.all[data.begin[at[i]]].size, .line = {}};
    if (i + 2 < at.size()) range.below = data.all[data.begin[at[i + 1]]].size;
    std::vector<Observation> inside;
    for (const Observation& o : all)
      if (o.size >= range.from && o.size < range.below) inside.push_back(o);
    range.line = fit_line(inside);
    out.push_back(range);
  }
  return out;
}

double fitted_seconds(const std::vector<RangeFit>& ranges, const Observation& at) {
  const RangeFit* found = &ranges.front();
  for (const RangeFit& range : ranges)
    if (at.size >= range.from) found = &range;
  return found->line(at);
}

double mean_error(const std::vector<RangeFit>& ranges, const std::vector<Observation>& observations) {
  double sum = 0;
  for (const Observation& o : observations)
    sum += std::abs(fitted_seconds(ranges, o) - o.seconds) / o.seconds;
  return observations.empty() ? 0 : sum / double(observations.size());
}

}  // namespace paradl::calibrate
