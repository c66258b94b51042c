#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/cost.hpp"

namespace paradl {

/// A run beside its projection. Where the iteration as a whole was not measured, but some of its parts were,
/// their sum stands for it on both sides, and the run is `partial`.
struct Judged {
  std::string model, system, strategy;
  int gpus = 1;
  double batch = 1;  // samples of one iteration
  Seconds measured, projected;
  bool partial = false;
  std::optional<Seconds> left_out;  // projected by parameters that were fitted without runs like this one
  // The parts, where the run has them:
  struct Part {
    double measured = 0, projected = 0;
    double gap() const { return projected - measured; }
  };
  std::optional<Part> compute, communication;           // seconds
  std::array<std::optional<Part>, terms> by_term = {};  // seconds
  std::optional<Part> memory;                           // bytes
  std::optional<double> layer_error;                    // how far its layer times may be off: 0.2, a fifth

  const std::optional<Part>& operator[](Term t) const { return by_term[std::size_t(t)]; }
  /// 1 - |projected - measured| / measured, never below 0.
  double accuracy() const;
  /// Projected over measured, less one: negative where the projection is too fast.
  double error() const { return projected / measured - 1; }
  Seconds gap() const { return projected - measured; }
  /// What is known of a projection that this run had no part in.
  Seconds unseen() const { return left_out.value_or(projected); }
  std::string panel() const { return model + " " + strategy; }  // what a figure shows as one curve
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
/// One tally for each term that was measured by itself.
std::vector<Tally> by_term(const std::vector<Judged>& runs);

/// Whether strategies are ordered as measured: pairs of runs of the same model on as many GPUs of the same
/// system whose times per sample differ by more than a tenth. Partial runs say nothing about it.
struct Ranking {
  std::size_t pairs = 0, agree = 0;
  double share() const { return pairs ? double(agree) / double(pairs) : 1; }
  std::vector<std::string> wrong;  // "resnet50, 4 GPUs: channel before filter"
};
inline constexpr double clear_difference = 0.1;
Ranking ranking(const std::vector<Judged>& runs);

}  // namespace paradl
