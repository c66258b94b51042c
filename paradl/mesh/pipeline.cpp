#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace paradl {
namespace {

/// Fills stages from the left up to `capacity`. Each stage gets at least one layer, and enough layers stay
/// for the rest.
std::vector<int> fill(std::span<const double> weight, int stages, double capacity) {
  const int n = int(weight.size());
  std::vector<int> first{0};
  double load = 0;
  for (int i = 0; i < n; ++i) {
    const bool over = i > first.back() && load + weight[std::size_t(i)] > capacity;
    const bool must = n - i == stages - int(first.size());  // one layer for each stage still to come
    if ((over || must) && i > first.back()) {
      first.push_back(i);
      load = 0;
    }
    load += weight[std::size_t(i)];
  }
  return first;
}

}  // namespace

std::vector<int> balanced_partition(std::span<const double> weight, int stages) {
  assert(stages >= 1 && stages <= int(weight.size()));
  double low = *std::ranges::max_element(weight), high = std::accumulate(weight.begin(), weight.end(), 0.0);
  // Bisection down to rounding: the answer is one of finitely many sums, and 60 halvings tell any two apart.
  for (int step = 0; step < 60 && low < high; ++step) {
    const double middle = low + (high - low) / 2;
    if (int(fill(weight, stages, middle).size()) <= stages)
      high = middle;
    else
      low = middle;
  }
  std::vector<int> first = fill(weight, stages, high);
  while (int(first.size()) > stages) first = fill(weight, stages, high *= 1 + 1e-12);
  return first;
}

}  // namespace paradl
