#include "calibrate/measure/contention.hpp"

#include <atomic>

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"
#include "tests/support/temporary.hpp"

namespace paradl::calibrate {
namespace {

/// Two nodes of `pairs` ranks; a host's link has 30 us and 31 MB/s, the trunk `wider` times as much.
Contention on_trunk(int pairs, double wider, double noise = 0) {
  const FakeNetwork network{.ranks_per_node = pairs,
                            .inside = {Seconds{1e-6}, SecondsPerByte{1e-9}},
                            .between = {Seconds{30e-6}, SecondsPerByte{1 / 31e6}},
                            .trunk = SecondsPerByte{1 / 31e6 / wider},
                            .noise = noise};
  Contention found;
  run_threads(network, 2 * pairs, [&](Communicator& c) {
    Samples samples;
    const Contention own = measure_contention(c, crossing_pairs(c.nodes()), {.most = Bytes{1e6}}, samples);
    if (c.rank() == 2 * pairs - 1) found = own;  // all ranks have the result
  });
  return found;
}

TEST_CASE("contention: a trunk as wide as one link doubles the time of two flows") {
  const Contention found = on_trunk(2, 1);
  REQUIRE(found.fit.phi.size() == 2);
  CHECK(found.fit.phi[1].flows == 2);
  CHECK(found.fit.phi[1].phi.value == test::approx(2).epsilon(0.01));
  CHECK(found.fit.alpha.value == test::approx(30e-6).epsilon(0.02));
  CHECK(found.fit.beta.value == test::approx(1 / 31e6).epsilon(0.01));
  CHECK(found.fit.slope.value == test::approx(1).epsilon(0.01));
}

TEST_CASE(
    "contention: a wide trunk costs nothing, and one as wide as two links slows down from three flows on") {
  CHECK(on_trunk(2, 4).fit.phi[1].phi.value == test::approx(1).epsilon(0.01));
  const Contention trunk = on_trunk(4, 2);
  REQUIRE(trunk.fit.phi.size() == 4);
  CHECK(trunk.fit.phi[1].phi.value == test::approx(1).epsilon(0.01));
  CHECK(trunk.fit.phi[2].phi.value == test::approx(1.5).epsilon(0.01));
  CHECK(trunk.fit.phi[3].phi.value == test::approx(2).epsilon(0.01));
}

TEST_CASE("contention: noise leaves phi within 10 %") {
  CHECK(on_trunk(2, 1, 0.1).fit.phi[1].phi.value == test::approx(2).epsilon(0.1));
  CHECK(on_trunk(2, 4, 0.1).fit.phi[1].phi.value == test::approx(1).epsilon(0.1));
}

TEST_CASE("contention: pairs cross from one node to the other, or from one half to the other") {
  CHECK(crossing_pairs({0, 0, 1, 1}) == std::vector<Pair>{{0, 2}, {1, 3}});
  CHECK(crossing_pairs({0, 1, 0, 1, 2}) == std::vector<Pair>{{0, 1}, {2, 3}});
  CHECK(crossing_pairs({0, 1, 2, 3}) == std::vector<Pair>{{0, 2}, {1, 3}});
  CHECK(crossing_pairs({0, 0, 0, 0, 0}) == std::vector<Pair>{{0, 2}, {1, 3}});
  CHECK(crossing_pairs({0}).empty());
}

TEST_CASE("contention: pairs must exist, and have two different ranks") {
  const auto refused = [](const std::vector<Pair>& pairs) {
    return test::complaint([&] {
      Samples samples;
      run_threads(2, [&](Communicator& c) { measure_contention(c, pairs, {}, samples); });
    });
  };
  CHECK(test::says(refused({}), "usage: contention needs pairs of ranks\n"));
  CHECK(test::says(refused({{0, 0}}), "usage: contention needs pairs of different ranks\n"));
  CHECK(test::says(refused({{0, 2}}), "usage: contention needs pairs of different ranks\n"));
}

TEST_CASE("contention: the ranks of a node share its memory bandwidth") {
  // A rank alone reads 1 MB at 10 GB/s; three together have 15 GB/s. The fourth rank is on another node.
  const FakeNetwork network{
      .ranks_per_node = 3, .own = {Seconds{0}, SecondsPerByte{1 / 10e9}}, .memory = SecondsPerByte{1 / 15e9}};
  std::vector<std::vector<Slowdown>> found(4);
  run_threads(network, 4, [&](Communicator& c) {
    std::vector<float> from(250'000), to(250'000);
    const Message out{c.rank(), from.data(), from.size()}, in{c.rank(), to.data(), to.size()};
    Samples samples;
    found[std::size_t(c.rank())] = measure_shared_memory(c,
                                                         {.name = "copy",
                                                          .work =
                                                              [&] {
                                                                c.exchange({&out, 1}, {&in, 1});
                                                              },
                                                          .rule = {.most = 10},
                                                          .stop = {}},
                                                         samples);
  });
  for (const auto& slowdown : found) {
    REQUIRE(slowdown.size() == 3);
    CHECK(slowdown[0].time.median.base() == test::approx(100e-6));
    CHECK(slowdown[0].factor == 1);
    CHECK(slowdown[1].factor == test::approx(4.0 / 3));
    CHECK(slowdown[2].factor == test::approx(2));
    CHECK(slowdown[2].active == 3);
  }
}

TEST_CASE("contention: an interrupted run keeps its samples, and the next run measures the rest") {
  const FakeNetwork network{.ranks_per_node = 2, .between = {Seconds{30e-6}, SecondsPerByte{1 / 31e6}}};
  const auto count = [](const Samples& samples) {
    std::size_t sum = 0;
    for (const auto& [of, times] : samples) sum += times.size();
    return sum;
  };
  ContentionOptions options{.most = Bytes{1e6}};
  options.rule.most = 12;
  options.rule.least = 12;                 // every sample is taken
  constexpr std::size_t all = 2 * 2 * 12;  // 64 and 256 kB, one flow and two
  Samples kept, rest;                      // kept: those of rank 0, as in the file of its node
  std::atomic<int> asked = 0;
  options.stop = [&] { return ++asked > 60; };
  run_threads(network, 4, [&](Communicator& c) {
    Samples samples;
    const Contention own = measure_contention(c, crossing_pairs(c.nodes()), options, samples);
    CHECK(own.interrupted);
    if (c.rank() == 0) kept = samples;
  });
  CHECK(count(kept) > 0);
  CHECK(count(kept) < all);

  test::TemporaryFolder folder;
  const Kept file(folder.path() + "/here.samples", "tool");
  file.write(kept);
  CHECK(file.samples() == kept);
  CHECK(Kept(file.path(), "another").samples().empty());

  options.stop = {};
  run_threads(network, 4, [&](Communicator& c) {
    Samples samples = c.rank() == 0 ? file.samples() : Samples{};
    const Contention own = measure_contention(c, crossing_pairs(c.nodes()), options, samples);
    CHECK(!own.interrupted);
    CHECK(own.fit.phi.size() == 2);
    CHECK(count(samples) == all);
    if (c.rank() == 1) rest = samples;
  });
  for (const auto& [of, times] : kept)  // samples of the first run come first, on all ranks
    CHECK(std::equal(times.begin(), times.end(), rest.at(of).begin()));
}

}  // namespace
}  // namespace paradl::calibrate
