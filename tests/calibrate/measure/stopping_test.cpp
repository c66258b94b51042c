#include "calibrate/measure/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

namespace paradl::calibrate {
namespace {

/// Returns these in turn, again and again.
std::function<Seconds()> series(std::vector<double> milliseconds) {
  return [values = std::move(milliseconds), i = std::size_t{0}]() mutable {
    return Seconds{1e-3 * values[i++ % values.size()]};
  };
}

TEST_CASE("stopping: the interval of the median is that of the binomial distribution") {
  CHECK(median_noise({1, 1, 1, 1, 1}) == std::numeric_limits<double>::infinity());
  // 6 samples: the least and the greatest, which do not enclose the median with probability 2/64
  CHECK(median_noise({10, 11, 9, 10, 10, 12}) == test::approx((12 - 9) / 2.0 / 10));
  // 20 samples: the 6th and the 15th (textbook table)
  std::vector<double> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  CHECK(median_noise(twenty) == test::approx((15 - 6) / 2.0 / 10.5));
  // 100 samples: the 40th and the 61st
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  CHECK(median_noise(hundred) == test::approx((61 - 40) / 2.0 / 50.5));
  CHECK(median_noise(std::vector<double>(5000, 3.0)) == 0);
}

TEST_CASE("stopping: steady samples end a measurement soon, noisy ones do not") {
  const StoppingRule rule{.warm_up = 1, .least = 5, .most = 200, .noise = 0.02};
  const Measured steady = measure(rule, series({10}));
  CHECK(steady.samples == 6);
  CHECK(steady.settled);
  CHECK(steady.median.base() == test::approx(10e-3));
  const Measured noisy = measure(rule, series({10, 10.6, 9.4, 10.1, 9.9}));
  CHECK(noisy.samples > 6);
  CHECK(noisy.settled);
  const Measured hopeless = measure(rule, series({10, 20}));
  CHECK_FALSE(hopeless.settled);
}

TEST_CASE("stopping: limits on count and time are kept, but one sample is always taken") {
  CHECK(measure({.most = 8, .noise = 0}, series({10, 20})).samples == 8);
  // 10 ms each: the warm-up and nine more fill 100 ms
  const Measured timed = measure({.noise = 0, .time = Seconds{0.1}}, series({10, 10.001}));
  CHECK(timed.samples == 9);
  CHECK_FALSE(timed.settled);
  const Measured one = measure({.time = Seconds{1e-3}}, series({10}));
  CHECK(one.samples == 1);
  CHECK(one.median.base() == test::approx(10e-3));
  CHECK(one.noise == std::numeric_limits<double>::infinity());
}

TEST_CASE("stopping: the first sample is a warm-up, and outliers do not move the median") {
  CHECK(measure({}, series({500, 10, 10, 10, 90, 10, 10, 10, 10, 10, 10, 10})).median.base() ==
        test::approx(10e-3));
}

TEST_CASE("stopping: load during half of the samples does not move the lower quartile") {
  const Measured loaded =
      measure({.warm_up = 0, .most = 8, .noise = 0}, series({10, 30, 10.1, 50, 10.2, 20, 9.9, 40}));
  CHECK(loaded.lower_quartile.base() == test::approx(10e-3));  // the second of eight
  CHECK(loaded.median.base() > 15e-3);
  CHECK(measure({.time = Seconds{1e-3}}, series({10})).lower_quartile.base() == test::approx(10e-3));
}

TEST_CASE("stopping: the interval contains the true median 19 times in 20") {
  std::mt19937 random(1);
  std::exponential_distribution<double> skewed;  // its median is ln 2
  int held = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 25; ++i) samples.push_back(skewed(random));
    std::sort(samples.begin(), samples.end());
    held += samples[7] <= std::log(2.0) && std::log(2.0) <= samples[17];
    if (trial == 0)
      CHECK(median_noise(samples) == test::approx((samples[17] - samples[7]) / 2 / samples[12]));
  }
  CHECK(held > 930);
}

TEST_CASE("load: another program's share and a change of speed are reported") {
  const auto ms = [](double wall, double cpu) {
    return LoadWatch::Reading{Seconds{wall * 1e-3}, Seconds{cpu * 1e-3}};
  };
  LoadWatch calm;
  CHECK(calm.warnings().empty());
  calm.add(ms(10, 10));
  calm.add(ms(10.3, 10.2));
  CHECK(calm.warnings().empty());

  LoadWatch shared;
  shared.add(ms(20, 10));
  shared.add(ms(20, 10));
  REQUIRE(shared.warnings().size() == 1);
  CHECK(shared.warnings()[0] ==
        "other processes used this machine: this one had a core for 50 % of the time");

  LoadWatch drifting;  // the two speeds of a shared host
  drifting.add(ms(10, 9.9));
  drifting.add(ms(13, 12.87));
  REQUIRE(drifting.warnings().size() == 1);
  CHECK(drifting.warnings()[0] == "the speed of the machine changed by 30 % during the measurement");

  LoadWatch real;
  real.look();
  CHECK(real.share() > 0);
  CHECK(real.drift() == 1);
}

}  // namespace
}  // namespace paradl::calibrate
