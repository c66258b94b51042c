#pragma once
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace paradl {

/// Detects when a sequence of states becomes periodic, by Brent's method: each state is compared with one
/// anchor, which moves on in growing strides. They grow slowly, because simulating a repetition costs far
/// more than a comparison.
class Recurrence {
 public:
  struct Period {
    int repetitions = 0;
    double time = 0;  // s
  };

  void restart() { anchor_.clear(); }

  /// Takes the state at a repetition and a time. Returns the period if the anchor is the same state; numbers
  /// that differ by 1e-9 are the same.
  std::optional<Period> observe(int repetition, double time, std::vector<double>& state) {
    const Period since{repetition - repetition_, time - time_};
    if (same(state)) return since;
    if (anchor_.empty() || since.repetitions >= stride_) {
      stride_ = anchor_.empty() ? 1 : stride_ + stride_ / 4 + 1;
      repetition_ = repetition;
      time_ = time;
      std::swap(anchor_, state);
    }
    return std::nullopt;
  }

 private:
  bool same(const std::vector<double>& state) const {
    if (state.size() != anchor_.size()) return false;
    for (std::size_t i = 0; i < state.size(); ++i)
      if (std::abs(state[i] - anchor_[i]) > 1e-9) return false;
    return !state.empty();
  }

  std::vector<double> anchor_;
  int repetition_ = 0, stride_ = 1;
  double time_ = 0;
};

}  // namespace paradl
