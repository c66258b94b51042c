#include "calibrate/measure/stopping.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "calibrate/fit/robust.hpp"
#include "calibrate/measure/clock.hpp"

namespace paradl::calibrate {
namespace {

/// The largest r (from 0) for which the median is between samples r and n-1-r with a probability of 95 %; -1
/// if there is none. It is outside if at most r of n fair coins fall on one side: twice the lower binomial
/// tail.
int interval_rank(int n) {
  double term = std::pow(0.5, n), tail = 0;  // above n = 1000 the normal approximation is as good
  if (n > 1000) return int(n / 2.0 - 0.98 * std::sqrt(double(n))) - 1;
  int r = -1;
  for (int k = 0; k < n; ++k) {
    tail += term;
    if (2 * tail > 0.05) break;
    r = k;
    term *= double(n - k) / (k + 1);
  }
  return r;
}

}  // namespace

double median_noise(std::vector<double> samples) {
  const int n = int(samples.size()), r = interval_rank(n);
  if (r < 0) return std::numeric_limits<double>::infinity();
  std::sort(samples.begin(), samples.end());
  const double middle = (samples[std::size_t((n - 1) / 2)] + samples[std::size_t(n / 2)]) / 2;
  return (samples[std::size_t(n - 1 - r)] - samples[std::size_t(r)]) / 2 / middle;
}

void Stopping::add(Seconds sample) {
  spent_ += sample.base();
  if (taken_++ < rule_.warm_up && spent_ < rule_.time.base()) return;
  count(sample);
}

void Stopping::restore(Seconds sample) {
  spent_ += sample.base();
  count(sample);
}

void Stopping::count(Seconds sample) {
  samples_.push_back(sample.base());
  std::vector<double> sorted = samples_;
  const auto quarter = sorted.begin() + std::ptrdiff_t((sorted.size() - 1) / 4);
  std::nth_element(sorted.begin(), quarter, sorted.end());
  state_ = {.median = Seconds{median(samples_)},
            .lower_quartile = Seconds{*quarter},
            .noise = median_noise(samples_),
            .samples = int(samples_.size())};
  state_.settled = state_.noise <= rule_.noise;
}

bool Stopping::done() const {
  if (samples_.empty()) return false;
  if (spent_ >= rule_.time.base() || state_.samples >= rule_.most) return true;
  return state_.settled && state_.samples >= rule_.least;
}

Measured Stopping::result() const { return state_; }

Measured measure(const StoppingRule& rule, const std::function<Seconds()>& sample) {
  Stopping stopping(rule);
  while (!stopping.done()) stopping.add(sample());
  return stopping.result();
}

LoadWatch::Reading LoadWatch::run_reference() {
  // Sums in registers: its time depends on the core alone.
  const double wall = clock_seconds(CLOCK_MONOTONIC), cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
  const volatile double one = 1;  // keeps the compiler from moving work before the clock is read
  std::array<double, 4> sums{one, one, one, one};
  for (int i = 0; i < 2'500'000; ++i)
    for (double& s : sums) s = s * 0.999999 + 1e-6;
  volatile double used = sums[0] + sums[1] + sums[2] + sums[3];
  (void)used;
  return {Seconds{clock_seconds(CLOCK_MONOTONIC) - wall},
          Seconds{clock_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu}};
}

double LoadWatch::drift() const {
  if (readings_.empty()) return 1;
  const auto [least, most] = std::minmax_element(readings_.begin(), readings_.end(),
                                                 [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  return most->cpu / least->cpu;
}

double LoadWatch::share() const {
  Seconds wall, cpu;
  for (const Reading& r : readings_) {
    wall += r.wall;
    cpu += r.cpu;
  }
  return wall > Seconds{} ? cpu / wall : 1;
}

std::vector<std::string> LoadWatch::warnings() const {
  std::vector<std::string> out;
  // A core of our own loses about a percent to the kernel.
  if (share() < 0.9)
    out.push_back(fmt::format(
        "other processes used this machine: this one had a core for {:.0f} % of the time", 100 * share()));
  if (drift() > 1.1)
    out.push_back(fmt::format("the speed of the machine changed by {:.0f} % during the measurement",
                              100 * (drift() - 1)));
  return out;
}

}  // namespace paradl::calibrate
