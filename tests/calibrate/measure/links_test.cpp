#include "calibrate/measure/links.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "tests/support/approx.hpp"

namespace paradl::calibrate {
namespace {

// 3 us and 6 GB/s within nodes of two, 25 us and 1.2 GB/s between them.
FakeNetwork known() {
  return {.ranks_per_node = 2,
          .inside = {Seconds{3e-6}, SecondsPerByte{1 / 6e9}},
          .between = {Seconds{25e-6}, SecondsPerByte{1 / 1.2e9}}};
}

/// The result of rank 0; all other ranks must get the same.
std::vector<LinkPoint> measured_on(const FakeNetwork& network, int ranks, const LinkOptions& options) {
  std::vector<std::vector<LinkPoint>> all(static_cast<std::size_t>(ranks));
  run_threads(network, ranks,
              [&](Communicator& c) { all[std::size_t(c.rank())] = measure_links(c, options).points; });
  for (const auto& points : all) {
    REQUIRE(points.size() == all[0].size());
    for (std::size_t i = 0; i < points.size(); ++i) CHECK(points[i].seconds == all[0][i].seconds);
  }
  return all[0];
}

const LinkFit& fit_of(const std::vector<LinkFit>& fits, Collective operation, GroupLevel level) {
  const auto found = std::find_if(fits.begin(), fits.end(), [&](const LinkFit& fit) {
    return fit.operation == operation && fit.level == level;
  });
  REQUIRE(found != fits.end());
  return *found;
}

TEST_CASE("links: a point has the messages and bytes of its operation's ring") {
  // p = 4, m = 400 bytes
  const auto at = [](Collective operation) {
    return observation({.operation = operation, .ranks = 4, .bytes = Bytes{400}, .seconds = Seconds{1}});
  };
  CHECK(at(Collective::allreduce).messages == 6);
  CHECK(at(Collective::allreduce).bytes == 600);
  CHECK(at(Collective::allgather).messages == 3);
  CHECK(at(Collective::allgather).bytes == 300);
  CHECK(at(Collective::reduce_scatter).bytes == 300);
  CHECK(at(Collective::all_to_all).messages == 3);
  CHECK(at(Collective::all_to_all).bytes == 300);
  CHECK(at(Collective::point_to_point).messages == 1);
  CHECK(at(Collective::point_to_point).bytes == 400);
  CHECK(at(Collective::point_to_point).size == 400);
}

TEST_CASE("links: an interrupted run keeps its points, and the next run measures the rest") {
  LinkOptions options{.most = Bytes{1e6}, .factor = 16, .sample = Seconds{0}};
  LinkMeasurement first, second;
  std::vector<LinkPoint> whole = measured_on(known(), 4, options);

  std::atomic<int> asked = 0;
  options.stop = [&] { return ++asked > 100; };
  run_threads(known(), 4, [&](Communicator& c) {
    auto mine = measure_links(c, options);
    if (c.rank() == 0) first = std::move(mine);
  });
  CHECK(first.interrupted);
  REQUIRE(!first.points.empty());
  CHECK(first.points.size() < whole.size());

  options.stop = {};
  options.known = first.points;
  for (LinkPoint& p : options.known) p.seconds = Seconds{77};  // to recognise kept points
  run_threads(known(), 4, [&](Communicator& c) {
    auto mine = measure_links(c, options);
    if (c.rank() == 0) second = std::move(mine);
  });
  CHECK(!second.interrupted);
  CHECK(second.points.size() >= first.points.size());
  CHECK(std::ranges::count(second.points, Seconds{77}, &LinkPoint::seconds) ==
        std::ptrdiff_t(first.points.size()));
}

TEST_CASE("links: every operation finds the alpha and beta of its level") {
  const LinkOptions options{.most = Bytes{1e6}, .factor = 16, .sample = Seconds{0}};
  const auto fits = fit_links(measured_on(known(), 6, options));  // 3 nodes of 2
  CHECK(fits.size() == 15);
  for (Collective operation : LinkOptions{}.operations) {
    CAPTURE(collective_names[std::size_t(operation)]);
    const LinkFit& node = fit_of(fits, operation, GroupLevel::node);
    REQUIRE(node.ranges.size() == 1);
    CHECK(node.ranges[0].line.alpha.value == test::approx(3e-6).epsilon(0.02));
    CHECK(node.ranges[0].line.beta.value == test::approx(1 / 6e9).epsilon(0.02));
    CHECK(node.ranks == std::vector{2});
    const LinkFit& between = fit_of(fits, operation, GroupLevel::cluster);
    REQUIRE(between.ranges.size() == 1);
    CHECK(between.ranges[0].line.alpha.value == test::approx(25e-6).epsilon(0.02));
    CHECK(between.ranges[0].line.beta.value == test::approx(1 / 1.2e9).epsilon(0.02));
    CHECK(between.ranks == std::vector{operation == Collective::point_to_point ? 2 : 3});
    CHECK(between.mean_error < 0.02);
  }
  // A ring across all ranks is as slow as its slowest link.
  const LinkFit& all = fit_of(fits, Collective::allreduce, GroupLevel::all);
  CHECK(all.ranks == std::vector{6});
  CHECK(all.ranges[0].line.alpha.value == test::approx(25e-6).epsilon(0.02));
}

TEST_CASE("links: noise is reported and does not move the fit") {
  FakeNetwork network = known();
  network.noise = 0.1;  // on average a ring of two waits for the slower of two messages: some 7 % more
  const LinkOptions options{.operations = {Collective::point_to_point}, .most = Bytes{1e6}, .factor = 2};
  const auto points = measured_on(network, 2, options);
  for (const LinkPoint& point : points) CHECK(point.noise <= 0.02);
  const LinkFit fit = fit_links(points).front();
  REQUIRE(fit.ranges.size() == 1);
  CHECK(fit.ranges[0].line.alpha.value == test::approx(3e-6 * 1.05).epsilon(0.03));
  CHECK(fit.ranges[0].line.beta.value == test::approx(1.05 / 6e9).epsilon(0.03));
}

TEST_CASE("links: levels are those that messages of these ranks use; one rank alone has none") {
  const LinkOptions options{
      .operations = {Collective::allreduce}, .most = Bytes{1e3}, .factor = 4, .sample = Seconds{0}};
  for (const LinkPoint& point : measured_on(known(), 2, options)) CHECK(point.level == GroupLevel::node);
  FakeNetwork single = known();
  single.ranks_per_node = 1;
  for (const LinkPoint& point : measured_on(single, 3, options)) CHECK(point.level == GroupLevel::cluster);
  CHECK(measured_on(known(), 1, options).empty());
}

TEST_CASE("links: sizes that would take too long are left out") {
  LinkOptions options{
      .operations = {Collective::allreduce}, .most = Bytes{4e6}, .factor = 4, .sample = Seconds{0}};
  const auto largest = [&] {
    double bytes = 0;
    for (const LinkPoint& point : measured_on(known(), 2, options))
      bytes = std::max(bytes, point.bytes.base());
    return bytes;
  };
  options.time = Seconds{10};
  CHECK(largest() == 2097152);  // 8 B times 4 to the 9th
  // Half of 1 ms for one size: seven allreduces of at most 71 us, each four times as long as the one before
  options.time = Seconds{1e-3};
  CHECK(largest() == 131072);  // 2 (3 us + 64 KiB / 6 GB/s) = 28 us; the next would take 93 us
}

}  // namespace
}  // namespace paradl::calibrate
