#include "paradl/mesh/partition.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace paradl;

namespace {

/// The longest part, and the cost of all borders.
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

TEST_CASE("the balanced partition is as good as the best of all partitions") {
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

TEST_CASE("if borders must cost least, a stage may be as long as that of a plain cut") {
  // Halves are 6 and 6, with a border of 4: 10. Balanced: 5 + 2 and 7 + 2. The border of 1/2 makes 9.5 and
  // 3.5: longer than 9, not longer than 10.
  const std::vector<LayerLoad> layer{{.forward = 3}, {.forward = 1}, {.forward = 1},
                                     {.forward = 1}, {.forward = 3}, {.forward = 3}};
  CHECK(balanced_partition(layer, 2, std::vector<double>{9, 9, 2, 4, 0.5, 0}) == std::vector{0, 3});
  CHECK(cheapest_partition(layer, 2, std::vector<double>{9, 9, 2, 4, 0.5, 0}) == std::vector{0, 5});
  CHECK(cheapest_partition(layer, 2, std::vector<double>{9, 9, 2, 3, 0.5, 0}) == std::vector{0, 3});
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weight(2 + random() % 12), border(weight.size());
    std::vector<LayerLoad> load;
    for (double& w : weight) w = double(1 + random() % 100), load.push_back({.forward = w});
    for (double& b : border) b = double(random() % 100);
    const int stages = 1 + int(random() % weight.size());
    const Worth cheapest = worth(weight, border, cheapest_partition(load, stages, border)),
                balanced = worth(weight, border, balanced_partition(weight, stages, border));
    CAPTURE(round);
    CHECK(cheapest.second <= balanced.second);
    CHECK(cheapest.first >= balanced.first * (1 - 1e-9));
  }
}

TEST_CASE("a cheap border may be further away, but not make a stage longer") {
  const std::vector<double> weight{4, 1, 3, 4};
  CHECK(balanced_partition(weight, 2) == std::vector{0, 2});
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 9, 1, 0}) == std::vector{0, 3});  // 9 against 14
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 2, 1, 0}) == std::vector{0, 3});  // 9 against 9
  CHECK(balanced_partition(weight, 2, std::vector<double>{1, 1, 1, 0}) == std::vector{0, 2});  // 8 against 9
}

namespace {

/// The work of the busiest stage; stage s has pieces s, s + stages, ... of the chain.
double busiest(const std::vector<double>& weight, const std::vector<double>& border,
               const std::vector<int>& first, int stages) {
  std::vector<double> load(static_cast<std::size_t>(stages));
  for (std::size_t k = 0; k < first.size(); ++k) {
    const auto from = std::size_t(first[k]);
    const std::size_t to = k + 1 < first.size() ? std::size_t(first[k + 1]) : weight.size();
    double& own = load[k % std::size_t(stages)];
    for (std::size_t i = from; i < to; ++i) own += weight[i];
    if (from > 0 && !border.empty()) own += border[from - 1];
    if (to < weight.size() && !border.empty()) own += border[to - 1];
  }
  return std::ranges::max(load);
}

double least_busiest(const std::vector<double>& weight, const std::vector<double>& border, int stages,
                     int pieces, std::vector<int> first = {0}) {
  if (int(first.size()) == pieces) return busiest(weight, border, first, stages);
  double best = 1e300;
  for (int next = first.back() + 1; next < int(weight.size()); ++next) {
    first.push_back(next);
    best = std::min(best, least_busiest(weight, border, stages, pieces, first));
    first.pop_back();
  }
  return best;
}

}  // namespace

TEST_CASE("interleaved stages: the stage with a long layer gets less work in its other pieces") {
  // By hand: the sum is 13. {2 1 1 1}{1}{1}{1 5} has stages of 6 and 7; even pieces, {2 1}{1 1 1}{1 1}{5},
  // have stages of 5 and 8.
  const std::vector<double> tail{2, 1, 1, 1, 1, 1, 1, 5};
  CHECK(busiest(tail, {}, interleaved_partition(tail, 2, 2), 2) == 7);
  // The sum is 36, and both stages have 18.
  const std::vector<double> rising{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(busiest(rising, {}, interleaved_partition(rising, 2, 2), 2) == 18);
}

TEST_CASE("the interleaved partition is as good as the best of all partitions") {
  std::mt19937 random(9);
  for (int round = 0; round < 400; ++round) {
    const int stages = 2 + int(random() % 2), chunks = 2 + int(random() % 2), pieces = stages * chunks;
    std::vector<double> weight(std::size_t(pieces) + random() % (pieces > 6 ? 4 : 7)), border(weight.size());
    for (double& w : weight) w = random() % 5 == 0 ? 0 : double(1 + random() % (round % 3 ? 10 : 1000));
    if (round % 2)
      for (double& b : border) b = double(random() % 4);
    const auto first = interleaved_partition(weight, stages, chunks, border);
    CAPTURE(round);
    REQUIRE(int(first.size()) == pieces);
    CHECK(first.front() == 0);
    CHECK(std::ranges::adjacent_find(first, std::greater_equal{}) == first.end());  // no empty piece
    CHECK(busiest(weight, border, first, stages) ==
          paradl::test::approx(least_busiest(weight, border, stages, pieces)).epsilon(1e-9));
  }
}

TEST_CASE("if a long chain has a heavy end, the busiest interleaved stage is within 6 % of an even share") {
  for (const auto& [layers, stages, chunks] :
       {std::array{400, 4, 2}, {1200, 8, 4}, {1500, 35, 3}, {300, 8, 8}}) {
    std::vector<double> weight(static_cast<std::size_t>(layers), 1.0);
    for (std::size_t i = 0; i < weight.size(); i += 6) weight[i] = 10;
    weight[weight.size() - 2] = 60;
    double total = 0;
    for (const double w : weight) total += w;
    const auto first = interleaved_partition(weight, stages, chunks);
    CAPTURE(layers);
    CHECK(busiest(weight, {}, first, stages) <= 1.06 * std::max(total / stages, 60.0 + chunks - 1));
  }
}
