#include "paradl/mesh/partition.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace paradl;

namespace {

/// The longest part, and what all borders cost.
using Worth = std::pair<double, double>;

Worth worth(const std::vector<double>& weight, const std::vector<double>& border,
            const std::vector<int>& first) {
  Worth out{0, 0};
  for (std::size_t s = 0; s < first.size(); ++s) {
    const auto from = std::size_t(first[s]);
    const std::size_t to = s + 1 < first.size() ? std::size_t(first[s + 1]) : weight.size();
    double part = 0;
    for (std::size_t i = from; i < to; ++i) part += weight[i];
    if (from > 0) part += border[from - 1], out.second += border[from - 1];
    if (to < weight.size()) part += border[to - 1];
    out.first = std::max(out.first, part);
  }
  return out;
}

/// Tries every cut.
Worth brute_force(const std::vector<double>& weight, const std::vector<double>& border, int stages,
                  std::vector<int> first = {0}) {
  if (int(first.size()) == stages) return worth(weight, border, first);
  Worth best{1e300, 0};
  for (int next = first.back() + 1; next < int(weight.size()); ++next) {
    first.push_back(next);
    const Worth one = brute_force(weight, border, stages, first);
    first.pop_back();
    const double same = 1e-9 * best.first;
    if (one.first < best.first - same || (one.first < best.first + same && one.second < best.second))
      best = one;
  }
  return best;
}

}  // namespace

TEST_CASE("the balanced partition is as good as trying every border") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<double> weight(1 + random() % 10), border(weight.size());
    for (double& w : weight) w = random() % 4 == 0 ? 0 : double(random() % 1000) / 7;
    if (round % 3 > 0)
      for (double& b : border) b = double(random() % (round % 3 == 1 ? 4 : 1000)) / 3;
    const int stages = 1 + int(random() % weight.size());
    const std::vector<int> first = balanced_partition(weight, stages, border);
    CAPTURE(round);
    REQUIRE(int(first.size()) == stages);
    CHECK(first.front() == 0);
    CHECK(std::ranges::adjacent_find(first, std::greater_equal{}) == first.end());  // no empty stage
    const Worth found = worth(weight, border, first), best = brute_force(weight, border, stages);
    CHECK(found.first == paradl::test::approx(best.first).epsilon(1e-9));
    CHECK(found.second == paradl::test::approx(best.second).epsilon(1e-9));
  }
}

TEST_CASE("a cheap border is worth a longer way, but not a longer stage") {
  const std::vector<double> weight{4, 1, 3, 4};
  CHECK(balanced_partition(weight, 2) == std::vector{0, 2});
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 9, 1, 0}) == std::vector{0, 3});  // 9 against 14
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 2, 1, 0}) == std::vector{0, 3});  // 9 against 9
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 1, 1, 0}) == std::vector{0, 2});  // 8 against 9
}

TEST_CASE("the even partition has the smallest sum of squares") {
  const auto squares = [](const std::vector<double>& weight, const std::vector<double>& border,
                          const std::vector<int>& first) {
    double sum = 0;
    for (std::size_t s = 0; s < first.size(); ++s) {
      const auto from = std::size_t(first[s]);
      const std::size_t to = s + 1 < first.size() ? std::size_t(first[s + 1]) : weight.size();
      double part = (from > 0 ? border[from - 1] : 0) + (to < weight.size() ? border[to - 1] : 0);
      for (std::size_t i = from; i < to; ++i) part += weight[i];
      sum += part * part;
    }
    return sum;
  };
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weight(3 + random() % 7), border(weight.size());
    for (double& w : weight) w = double(random() % 100);
    for (double& b : border) b = double(random() % 20);
    const auto found = even_partition(weight, 3, border);
    double best = 1e300;
    for (int a = 1; a + 1 < int(weight.size()); ++a)
      for (int b = a + 1; b < int(weight.size()); ++b)
        best = std::min(best, squares(weight, border, {0, a, b}));
    CHECK(squares(weight, border, found) == paradl::test::approx(best));
  }
}
