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
  Plan plan;             // of every candidate, but for its mesh
  int rounds = 5;        // of measuring and running in turn, because the speed of a shared machine changes
  int iterations = 3;    // of each strategy in a round
  int turns = 3;         // of each layer in a round
  Seconds link_time{5};  // for the links in a round
  bool timed = true;     // false: only check the result
  Fault fault = Fault::none;
  /// Links and layer times for the projection; without them, they are measured in every round.
  std::optional<Machine> machine;
  std::shared_ptr<const Profile> profile;
  /// Called on rank 0 before each piece of work.
  std::function<void(const std::string& what, double share)> progress;
  /// Asked before each piece of work; all ranks stop if one returns true.
  std::function<bool()> stop;
};

/// The result of one candidate.
struct Rehearsed {
  Candidate candidate;
  std::string refused;  // why it was not run; empty if it was
  Difference difference;
  bool correct = false;
  Seconds measured;                      // an iteration, on the slowest rank
  std::array<Seconds, terms> spent{};    // its terms, on average over ranks
  int rounds = 0;                        // with times of it
  std::optional<Projection> projection;  // none if not timed
  bool timed() const { return projection && projection->cost; }
  double accuracy() const;  // 1 - |projected - measured| / measured, not below zero
};

struct Rehearsal {
  std::vector<Rehearsed> results;
  LayerTimes times;                   // used by the projections
  std::optional<Machine> machine;     // likewise
  std::vector<std::string> warnings;  // other load on the machine
  bool interrupted = false;
};

/// The largest buffer in any exchange: all gradients, or the largest activation.
Bytes largest_buffer(const Workload& work, double batch);

/// Runs every candidate, compares its result with a run on one rank, and projects it. All ranks call it and
/// get the same result.
Rehearsal rehearse(const Workload& work, const std::vector<Candidate>& candidates,
                   const RehearsalOptions& options, Device& device, Communicator& ranks);

/// Whether measured and projected times rank the candidates in the same order. Times within `tie` of each
/// other count as equal.
bool ranking_agrees(const std::vector<Rehearsed>& results, double tie = 0.05);

/// Whether the candidate projected to be fastest is the fastest, or within `tie` of it.
bool winner_agrees(const std::vector<Rehearsed>& results, double tie = 0.05);

/// Whether at least one candidate ran, and all that ran gave the result of one rank.
bool all_right(const Rehearsal& rehearsal);

/// Over all timed candidates; 1 if there are none.
double mean_accuracy(const Rehearsal& rehearsal);
double worst_accuracy(const Rehearsal& rehearsal);

/// The training of a rehearsal: without overlap, with batch norm over all samples, and with halos of dx sent
/// back.
Training rehearsal_training(Training training);

}  // namespace paradl::calibrate
