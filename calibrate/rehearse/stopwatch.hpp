#pragma once
#include <array>
#include <chrono>

#include "calibrate/backend/device.hpp"
#include "paradl/cost/cost.hpp"

namespace paradl::calibrate {

/// The time of an iteration by terms, on one rank.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device), last_(now()) {}

  void start() { last_ = now(); }
  /// Adds the time since the last lap to this term.
  void lap(Term term) {
    const auto t = now();
    spent_[std::size_t(term)] += Seconds{std::chrono::duration<double>(t - last_).count()};
    last_ = t;
  }
  const std::array<Seconds, terms>& spent() const { return spent_; }

 private:
  std::chrono::steady_clock::time_point now() const {
    device_.synchronize();
    return std::chrono::steady_clock::now();
  }
  Device& device_;
  std::array<Seconds, terms> spent_{};
  std::chrono::steady_clock::time_point last_;
};

}  // namespace paradl::calibrate
