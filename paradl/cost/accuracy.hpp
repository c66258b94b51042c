#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// A run beside its projection.
struct Judged {
  std::string model, system, strategy;
  int gpus = 1;
  double batch = 1;  // samples of one iteration
  Seconds measured, projected;
  // The parts, where the run has them:
  struct Part {
    double measured = 0, projected = 0;
    double gap() const { return projected - measured; }
  };
  std::optional<Part> compute, communication;  // seconds
  std::optional<Part> memory;                  // bytes

  /// 1 - |projected - measured| / measured, never below 0.
  double accuracy() const;
  /// Projected over measured, less one: negative where the projection is too fast.
  double error() const { return projected / measured - 1; }
  Seconds gap() const { return projected - measured; }
  /// Of the gap, what neither part tells: overlap that was or was not, input, waiting.
  std::optional<Seconds> unexplained() const;
};

/// Accuracies of some runs.
struct Tally {
  std::string name;
  std::size_t n = 0;
  double mean = 0, median = 0, worst = 1;
};

/// All runs in one tally; `name` of it.
Tally tally(const std::vector<Judged>& runs, std::string name);

/// One tally for each name, in the order in which names first appear; for numbers of GPUs, by number.
std::vector<Tally> by_strategy(const std::vector<Judged>& runs);
std::vector<Tally> by_model(const std::vector<Judged>& runs);
std::vector<Tally> by_gpus(const std::vector<Judged>& runs);

/// Whether strategies are ordered as measured: pairs of runs of the same model on as many GPUs of the same
/// system whose times per sample differ by more than a tenth.
struct Ranking {
  std::size_t pairs = 0, agree = 0;
  double share() const { return pairs ? double(agree) / double(pairs) : 1; }
  std::vector<std::string> wrong;  // "resnet50, 4 GPUs: channel before filter"
};
inline constexpr double clear_difference = 0.1;
Ranking ranking(const std::vector<Judged>& runs);

/// From this many GPUs on errors are recorded apart: what other jobs and the network's distance add there is
/// no part of a projection, and shown as a band.
inline constexpr double large_scale = 512;

/// What runs say about projections of their level and strategy: an interval of measured / projected that
/// holds nine runs in ten (Student's t, for few runs), and 1.
std::vector<RecordedError> record_errors(const std::vector<Judged>& runs,
                                         const std::vector<ParameterLevel>& levels);

}  // namespace paradl
