#pragma once
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace paradl {

/// Watches the states that something goes through, and tells when one comes back (Brent's way: each state is
/// compared with one anchor, and the anchor moves on in strides that grow; slowly, as a repetition that has
/// to be simulated costs far more than a comparison).
class Recurrence {
 public:
  struct Period {
    int repetitions = 0;
    double time = 0;  // s
  };

  void restart() { anchor_.clear(); }

  /// The state at a repetition and a time; how far the same state lies back, if it has been seen. Numbers
  /// that differ by 1e-9 count as the same.
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
