// Measured times are looked up by shape; other numbers of samples are interpolated between the nearest.
#include "paradl/machine/profile.hpp"

#include <doctest/doctest.h>

#include "paradl/machine/kernel_time.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/layers.hpp"

namespace paradl::test {
namespace {

LocalLayer layer(std::int64_t samples) { return conv(samples, 8, {16, 16}, 8, {.kernel = 3, .padding = 1}); }

PassTimes times(double forward) {
  return {.forward = Seconds{forward},
          .backward_data = Seconds{2 * forward},
          .backward_weights = Seconds{3 * forward},
          .update = Seconds{5}};
}

Profile profile_of(const std::vector<std::pair<std::int64_t, double>>& points) {
  ProfileSpec spec{.name = "p"};
  for (const auto& [samples, forward] : points) spec.entries.push_back({layer(samples), times(forward)});
  return Profile(spec);
}

double forward_at(const Profile& profile, std::int64_t samples) {
  const auto found = profile.find(layer(samples));
  return found ? found->forward.base() : -1;
}

TEST_CASE("a measured shape has its measured times") {
  const auto found = profile_of({{4, 1}, {16, 3}}).find(layer(16));
  REQUIRE(found);
  CHECK(found->forward == Seconds{3});
  CHECK(found->backward_data == Seconds{6});
  CHECK(found->backward_weights == Seconds{9});
  CHECK(found->backward() == Seconds{15});
}

TEST_CASE("between two numbers of samples, times are interpolated") {
  const Profile profile = profile_of({{16, 3}, {4, 1}});  // in any order
  CHECK(forward_at(profile, 10) == approx(2));            // half of the way from 4 to 16
  CHECK(forward_at(profile, 8) == approx(1 + 2.0 / 3));
}

TEST_CASE("times are extrapolated on the line through the two nearest, but never to almost zero") {
  const Profile profile = profile_of({{4, 1}, {16, 3}, {32, 7}});
  CHECK(forward_at(profile, 40) == approx(9));       // 7 + 8 (7 - 3) / 16
  CHECK(forward_at(profile, 2) == approx(2.0 / 3));  // 1 - 2 (3 - 1) / 12
  const Profile steep = profile_of({{8, 1}, {16, 10}});
  CHECK(forward_at(steep, 1) == approx(0.1));  // a tenth of the nearer one
}

TEST_CASE("with one number of samples, times are proportional to samples; updates do not depend on them") {
  const auto found = profile_of({{4, 1}}).find(layer(12));
  REQUIRE(found);
  CHECK(found->forward == Seconds{3});
  CHECK(found->update == Seconds{5});
}

TEST_CASE("a layer that was not measured is not found") {
  const Profile profile = profile_of({{4, 1}});
  CHECK_FALSE(profile.find(conv(4, 8, {16, 16}, 9, {.kernel = 3, .padding = 1})));
  CHECK_FALSE(profile.find(conv(4, 8, {16, 16}, 8, {.kernel = 3})));
}

LocalLayer filters(std::int64_t count) { return conv(4, 8, {16, 16}, count, {.kernel = 3, .padding = 1}); }

KernelDevice device() {
  KernelDevice d;
  d.multiprocessors = 80;
  d.peak = d.plain_peak = FlopRate{15.7e12};
  d.bandwidth = Bandwidth{900e9};
  d.item = Bytes{4};
  d.update = {Bytes{20}};
  return d;
}

TEST_CASE("a part of a layer takes the modelled time, corrected by measured cuts of that layer") {
  const KernelDevice model = device();
  ProfileSpec spec{.name = "p"};
  const auto measured = [&](std::int64_t count, double factor) {
    PassTimes t = modelled_passes(model, filters(count));
    for (const auto pass : {&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights})
      t.*pass *= factor;
    spec.entries.push_back({filters(count), t});
  };
  measured(64, 1.0);
  const auto forward = [&](std::int64_t count) {
    const auto found = Profile(spec).find(filters(count), &model);
    return found ? found->forward / modelled_passes(model, filters(count)).forward : -1;
  };
  CHECK(forward(16) == approx(1));  // only the whole layer was measured: as modelled
  measured(16, 4.0);
  CHECK(forward(16) == approx(4));  // this shape was measured
  CHECK(forward(32) == approx(2));  // halfway in its logarithm: sqrt(1 x 4)
  CHECK(forward(8) == approx(4));   // beyond all: the correction of the nearest
  CHECK(forward(128) == approx(1));
  // 64 filters at one other measured number of samples: the model gives the dependence on samples.
  LocalLayer more = filters(64);
  more.samples = 12;
  CHECK(Profile(spec).find(more, &model)->forward.base() ==
        approx(modelled_passes(model, more).forward.base()));
  // Another layer was not measured.
  CHECK_FALSE(Profile(spec).find(conv(4, 8, {16, 16}, 8, {.kernel = 5, .padding = 2}), &model));
}

}  // namespace
}  // namespace paradl::test
