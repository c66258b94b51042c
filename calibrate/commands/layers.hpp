#pragma once
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/measure/layer_rounds.hpp"
#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// What to measure for a profile, and where to write it.
struct LayerJob {
  std::string name, path;  // of the profile
  std::string model;
  Training training;
  BatchRule batch;
  std::vector<PlannedShape> shapes;
  LayerRule rule;

  std::vector<LocalLayer> layers() const;
};

struct LayerOutcome {
  ProfileSpec profile;                               // everything that the file has now
  std::vector<PlannedShape> noisy;                   // measured, but noisier than the rule allows
  std::vector<PlannedShape> refused;                 // the back end cannot run them
  std::size_t planned = 0, known = 0, measured = 0;  // shapes: all, in the file before, measured now
  int rounds = 0;
  bool interrupted = false;
};

/// Measures the shapes that the file does not have yet, and writes the file, even if it is interrupted. All
/// ranks call it; rank 0 writes.
LayerOutcome run_layers(const Session& session, const Bench& bench, const LayerJob& job);

/// For people: what was measured, and on stderr what is wrong with it.
std::string layer_summary(const LayerJob& job, const LayerOutcome& outcome);
void warn_of_layers(const Session& session, const LayerJob& job, const LayerOutcome& outcome);

}  // namespace paradl::calibrate
