// A profile with one measured total: times of other batches and of parts of layers.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/asked.hpp"

namespace paradl::test {
namespace {

/// Forward and backward of an iteration of ResNet-50.
double passes(const std::string& strategy, int gpus, int batch, const std::string& profile) {
  Query query = query_of("resnet50", "abci", fmt::format("-p {} -b {} -s {}", gpus, batch, strategy));
  if (!profile.empty()) query.profile = profile;
  const auto all = ask(query, shipped()).sweep();
  REQUIRE(all.size() == 1);
  REQUIRE(all.front().cost);
  return ((*all.front().cost)[Term::forward] + (*all.front().cost)[Term::backward]).base();
}

const std::string total = "v100-resnet50";
constexpr double measured = 3.119502e-3;  // for a sample, at a batch of 64

}  // namespace

TEST_CASE("at the measured batch the time is the measured total") {
  CHECK(passes("serial", 1, 64, total) == doctest::Approx(64 * measured));
  CHECK(passes("data", 4, 256, total) == doctest::Approx(64 * measured));
}

TEST_CASE("other batches scale the total as the kernel-time model scales") {
  const double modelled = passes("serial", 1, 64, "") / 64;
  double before = 1e9;
  for (const int batch : {1, 4, 16, 64, 256}) {
    CAPTURE(batch);
    const double each = passes("serial", 1, batch, total) / batch;
    CHECK(each == doctest::Approx(measured / modelled * passes("serial", 1, batch, "") / batch));
    CHECK(each <= before * (1 + 1e-9));
    before = each;
  }
  CHECK(passes("serial", 1, 1, total) > 1.2 * measured);  // one sample does not fill the device
}

TEST_CASE("parts of layers together never cost less than the whole") {
  for (const char* strategy : {"filter", "channel", "spatial"}) {
    double before = 64 * measured;
    for (const int p : {2, 4, 16, 64}) {
      if (p > 4 && std::string(strategy) == "spatial") continue;
      CAPTURE(strategy);
      CAPTURE(p);
      const double together = p * passes(strategy, p, 64, total);
      CHECK(together >= before * (1 - 1e-9));
      before = together;
    }
    CHECK(before > 1.1 * 64 * measured);
  }
}

}  // namespace paradl::test
