#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace paradl;

namespace {

double longest(const std::vector<double>& weight, const std::vector<int>& first) {
  double worst = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const std::size_t end = s + 1 < first.size() ? std::size_t(first[s + 1]) : weight.size();
    double sum = 0;
    for (std::size_t i = std::size_t(first[s]); i < end; ++i) sum += weight[i];
    worst = std::max(worst, sum);
  }
  return worst;
}

/// The shortest longest stage, by trying every border.
double brute_force(const std::vector<double>& weight, std::size_t from, int stages) {
  if (stages == 1) {
    double sum = 0;
    for (std::size_t i = from; i < weight.size(); ++i) sum += weight[i];
    return sum;
  }
  double best = std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t i = from; i + std::size_t(stages) <= weight.size(); ++i) {
    sum += weight[i];
    best = std::min(best, std::max(sum, brute_force(weight, i + 1, stages - 1)));
  }
  return best;
}

}  // namespace

TEST_CASE("the balanced partition is as good as trying every border") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> weight(1 + random() % 10);
    for (double& w : weight) w = random() % 4 == 0 ? 0 : double(random() % 1000) / 7;
    const int stages = 1 + int(random() % weight.size());
    const std::vector<int> first = balanced_partition(weight, stages);
    CAPTURE(round);
    REQUIRE(int(first.size()) == stages);
    CHECK(first.front() == 0);
    CHECK(std::ranges::adjacent_find(first, std::greater_equal{}) == first.end());  // no empty stage
    CHECK(longest(weight, first) == paradl::test::approx(brute_force(weight, 0, stages)).epsilon(1e-9));
  }
}
