#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/rehearse/check.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/machine/profile.hpp"

namespace paradl::calibrate {

/// A strategy on a grid of all ranks.
struct Candidate {
  StrategyName strategy;
  Mesh mesh;
};

/// What to rehearse, and how thoroughly.
struct RehearsalOptions {
  Training training;
  std::int64_t batch = 1;
  int rounds = 5;        // of measuring and running in turn: a shared machine changes its speed
  int iterations = 3;    // of each strategy in a round
  int turns = 3;         // of each layer in a round
  Seconds link_time{5};  // for the links in a round
  bool timed = true;     // no: only whether the result is right
  Fault fault = Fault::none;
  /// What the projection uses; where they are not given, they are measured in every round.
  const Machine* machine = nullptr;
  std::shared_ptr<const Profile> profile;
  /// Called on rank 0 before each piece of work.
  std::function<void(const std::string& what, double share)> progress;
  /// Asked before each piece of work; where one rank says yes, all stop.
  std::function<bool()> stop;
};

/// What came of one candidate.
struct Rehearsed {
  Candidate candidate;
  std::string refused;  // why it was not run; empty if it was
  Difference difference;
  bool correct = false;
  Seconds measured;                      // an iteration, on the slowest rank
  std::array<Seconds, terms> spent{};    // of it, on average over ranks
  int rounds = 0;                        // in which it was timed
  std::optional<Projection> projection;  // none if not timed
  bool timed() const { return projection && projection->cost; }
  double accuracy() const;  // 1 - |projected - measured| / measured, not below zero
};

struct Rehearsal {
  std::vector<Rehearsed> results;
  LayerTimes times;                   // what the projections rest on
  std::optional<Machine> machine;     // likewise; with the links that were measured
  std::vector<std::string> warnings;  // other load on the machine
  bool interrupted = false;
};

/// The largest buffer that is ever sent: all gradients, or the largest activation.
Bytes largest_buffer(const Workload& work, std::int64_t batch);

/// Runs every candidate, checks it against a run on one PE, and projects it. All ranks call it, and all get
/// the same answer.
Rehearsal rehearse(const Workload& work, const std::vector<Candidate>& candidates,
                   const RehearsalOptions& options, Device& device, Communicator& ranks);

/// Whether the candidates come in the same order by what was measured and by what was projected; those that
/// took the same time within `tie` may come either way.
bool ranking_agrees(const std::vector<Rehearsed>& results, double tie = 0.05);

/// Whether what was projected to be fastest is, or is within `tie` of what is.
bool winner_agrees(const std::vector<Rehearsed>& results, double tie = 0.05);

/// Whether every candidate that was run gave the result of one PE, and there was one.
bool all_right(const Rehearsal& rehearsal);

/// Over the candidates that were timed; 1 if none was.
double mean_accuracy(const Rehearsal& rehearsal);
double worst_accuracy(const Rehearsal& rehearsal);

/// How a rehearsal trains: nothing overlaps, batch norm sees all samples, and the edges of dx are sent back.
Training rehearsal_training(Training training);

}  // namespace paradl::calibrate
