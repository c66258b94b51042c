#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/measure/layers.hpp"

namespace paradl::calibrate {

/// When the times of layers are accurate enough.
struct LayerRule {
  double noise = 0.02;  // relative half-width of the median's 95 % confidence interval, of the noisiest pass
  Seconds least{0.01};  // of each shape, even if its noise is low
  Seconds time{600};    // in total: no round begins later
  int rounds = 10;      // at most
  int turns = 3;        // of each shape in a round, at least
};

struct LayerRoundsOptions {
  LayerRule rule;
  Optimizer optimizer = Optimizer::momentum;
  /// Asked before each shape on every rank; all ranks stop if one returns true.
  std::function<bool()> stop;
  /// Called on rank 0 before each shape, with its index and the completed share ...
  std::function<void(std::size_t shape, double share)> progress;
  /// ... and after each round, and sometimes within one, with the entries so far.
  std::function<void(const std::vector<ProfileSpec::Entry>&)> keep;
};

struct LayerRounds {
  std::vector<ProfileSpec::Entry> entries;  // in the order of the shapes
  std::vector<LocalLayer> refused;          // the back end cannot run them, or has no memory for them
  int rounds = 0;
  bool interrupted = false;
  std::vector<std::string> warnings;  // of other load on the machine
};

/// Times shapes in rounds with a few turns of each, so that a temporary slowdown of the machine affects all
/// shapes. Shapes with low enough noise are left out of later rounds. The turns of all rounds are pooled. All
/// ranks measure at the same time, as they do in training; the result is the mean over ranks. All ranks call
/// it and get the same result. The noise of fewer than six turns is unknown, and counts as 1.
LayerRounds measure_layer_rounds(Device& device, Communicator& ranks, const std::vector<LocalLayer>& shapes,
                                 const LayerRoundsOptions& options);

}  // namespace paradl::calibrate
