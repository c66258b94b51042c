#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/measure/layers.hpp"

namespace paradl::calibrate {

/// When the times of layers are good enough.
struct LayerRule {
  double noise = 0.02;  // relative half-width of the median's 95 % interval, of the least steady pass
  Seconds least{0.01};  // of each shape, whatever its noise
  Seconds time{600};    // of all: no round begins later
  int rounds = 10;      // at most
  int turns = 3;        // of each shape in a round, at least
};

struct LayerRoundsOptions {
  LayerRule rule;
  Optimizer optimizer = Optimizer::momentum;
  /// Asked before each shape, on every rank: if one of them says yes, all stop there.
  std::function<bool()> stop;
  /// Called on rank 0: before each shape with its index and the share that is done ...
  std::function<void(std::size_t shape, double share)> progress;
  /// ... and after each round, and at times within one, with what there is so far.
  std::function<void(const std::vector<ProfileSpec::Entry>&)> keep;
};

struct LayerRounds {
  std::vector<ProfileSpec::Entry> entries;  // in the order of the shapes
  std::vector<LocalLayer> refused;          // the back end cannot run them, or has no memory for them
  int rounds = 0;
  bool interrupted = false;
  std::vector<std::string> warnings;  // of other load on the machine
};

/// Times shapes in rounds, a few turns of each in turn, so that a machine that slows down for a while does so
/// for all of them alike; those whose noise is within its limit are left out of later rounds. Turns of all
/// rounds count together. All ranks measure at the same time, as they work at the same time; the mean over
/// ranks counts. All ranks call it, and all get the same. The noise of fewer than six turns is 1: not known.
LayerRounds measure_layer_rounds(Device& device, Communicator& ranks, const std::vector<LocalLayer>& shapes,
                                 const LayerRoundsOptions& options);

}  // namespace paradl::calibrate
