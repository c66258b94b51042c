#pragma once
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace paradl {

/// Random numbers that are the same for the same seed on every platform, unlike std::shuffle and the standard
/// distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  /// From 0 to n - 1. The slight preference of a remainder for small numbers is below 2^-32 here.
  std::size_t below(std::size_t n) { return std::size_t(engine_() % n); }

  /// The numbers from 0 to n - 1 in any order (Fisher and Yates).
  std::vector<int> shuffled(int n) {
    std::vector<int> order(std::size_t(n), 0);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace paradl
