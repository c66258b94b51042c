#pragma once
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/measure/layer_plan.hpp"
#include "calibrate/measure/layer_rounds.hpp"
#include "paradl/console/arguments.hpp"
#include "paradl/console/options.hpp"
#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// What a profile is to hold, and where it is to be written.
struct LayerJob {
  std::string name, path;  // of the profile
  std::string model;       // as it was asked for
  Training training;
  BatchRule batch;
  std::vector<PlannedShape> shapes;
  LayerRule rule;

  std::vector<LocalLayer> layers() const;
};

/// What became of it.
struct LayerOutcome {
  ProfileSpec profile;                               // all that the file has now
  std::vector<PlannedShape> noisy;                   // measured, and not steady enough
  std::vector<PlannedShape> refused;                 // what the back end cannot run
  std::size_t planned = 0, known = 0, measured = 0;  // shapes; of them in the file already; now
  int rounds = 0;
  bool interrupted = false;
};

/// Options about when to stop, as they are typed.
struct LayerRuleWords {
  std::string noise, least, time, rounds;
  void define(const Arguments& command);
  LayerRule read() const;
};

/// A time such as `60s` for option `name`. UsageError otherwise.
Seconds read_seconds(const std::string& name, const std::string& text);

/// `32` samples, `32/gpu`; the model file's batch by default. UsageError for what cannot be measured.
BatchRule read_layer_batch(const Options& options, const Workload& work);

/// "4", "4 per PE".
std::string batch_text(const BatchRule& batch);

/// Takes what the file has already, measures the rest and writes the file, also if it is interrupted. All
/// ranks call it; rank 0 writes.
LayerOutcome run_layers(const Session& session, const Bench& bench, const LayerJob& job);

/// How fast the bench's device is, by a quick run; of one that is not here, what is common.
Rates rates_of(const Bench& bench);

/// What would be measured: the lines of a dry run.
std::string layer_plan_text(const LayerJob& job, const DeviceFacts& facts, const Rates& rates);

/// What was measured, for people.
std::string layer_summary(const LayerJob& job, const LayerOutcome& outcome);
/// Says on stderr what is wrong with it.
void warn_of(const Session& session, const LayerJob& job, const LayerOutcome& outcome);

}  // namespace paradl::calibrate
