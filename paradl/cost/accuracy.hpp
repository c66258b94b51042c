#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/cost.hpp"

namespace paradl {

/// A measured run with its projection. If only some parts of the iteration were measured, `measured` and
/// `projected` are the sums of these parts, and the run is `partial`.
struct Judged {
  std::string model, system, strategy;
  int gpus = 1;
  double batch = 1;  // samples of one iteration
  Seconds measured, projected;
  bool partial = false;
  std::optional<Seconds> left_out;  // projected with parameters that were fitted without runs like this one
  // The parts, if they were measured:
  struct Part {
    double measured = 0, projected = 0;
    double gap() const { return projected - measured; }
  };
  std::optional<Part> compute, communication;           // seconds
  std::array<std::optional<Part>, terms> by_term = {};  // seconds
  std::optional<Part> memory;                           // bytes
  std::optional<double> layer_error;                    // relative error of its layer times: 0.2 is a fifth

  const std::optional<Part>& operator[](Term t) const { return by_term[std::size_t(t)]; }
  /// 1 - |projected - measured| / measured, never below 0.
  double accuracy() const;
  /// Projected over measured, minus one: negative if the projection is too fast.
  double error() const { return projected / measured - 1; }
  Seconds gap() const { return projected - measured; }
  /// The projection without parameters that were fitted to this run, if there is one.
  Seconds unseen() const { return left_out.value_or(projected); }
  std::string panel() const { return model + " " + strategy; }  // one curve of a figure
  /// The part of the gap that neither computation nor communication explains: overlap, input, waiting.
  std::optional<Seconds> unexplained() const;
};

/// Accuracy statistics of some runs.
struct Tally {
  std::string name;
  std::size_t n = 0;
  double mean = 0, median = 0, worst = 1;
};

/// One tally of all runs.
Tally tally(const std::vector<Judged>& runs, std::string name);

/// One tally for each name, in the order of first appearance; by_gpus() in the order of numbers.
std::vector<Tally> by_strategy(const std::vector<Judged>& runs);
std::vector<Tally> by_model(const std::vector<Judged>& runs);
std::vector<Tally> by_gpus(const std::vector<Judged>& runs);
/// One tally for each term that was measured separately.
std::vector<Tally> by_term(const std::vector<Judged>& runs);

/// Whether projections order strategies as measurements do. It compares pairs of runs of the same model on
/// the same number of GPUs of the same system, if their times per sample differ by more than a tenth. Partial
/// runs do not count.
struct Ranking {
  std::size_t pairs = 0, agree = 0;
  double share() const { return pairs ? double(agree) / double(pairs) : 1; }
  std::vector<std::string> wrong;  // "resnet50, 4 GPUs: channel before filter"
};
inline constexpr double clear_difference = 0.1;
Ranking ranking(const std::vector<Judged>& runs);

}  // namespace paradl
