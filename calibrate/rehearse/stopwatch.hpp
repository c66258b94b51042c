#pragma once
#include <array>
#include <chrono>

#include "calibrate/backend/device.hpp"
#include "paradl/cost/breakdown.hpp"

namespace paradl::calibrate {

/// Where the time of an iteration goes, on one PE.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device), last_(now()) {}

  void start() { last_ = now(); }
  /// What has passed since the last lap was spent on this.
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
