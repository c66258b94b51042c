#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "paradl/cost/accuracy.hpp"
#include "paradl/query/oracle.hpp"
#include "paradl/spec/measured_runs.hpp"

namespace paradl {

/// A measured run as a question: one strategy, one number of GPUs.
struct RunAsked {
  const MeasuredRun* run = nullptr;
  const MeasuredRuns* file = nullptr;  // the file of the run
  Oracle oracle;
  std::string framework;
  std::string model;               // the model that the run's name means
  std::vector<std::string> notes;  // corrections to the run, and why
  bool as_written =
      true;  // defaults change no parameters of its projection, so that its `left_out` applies

  const Case& about() const { return oracle.about(); }
  /// The best of the grids that the run leaves open, feasible or not, since it did run. SpecError at its
  /// strategy if none has a cost.
  Projection project() const;
};

/// Turns every run into a question. Values that a run leaves open come from `defaults`. Otherwise the
/// framework is that of the system (that of the runs its links were fitted on), layer times come from the
/// profile of the model and device, and an empty grid is the natural one (the innermost axis fills a node).
/// Names and settings are corrected by profiles/accuracy/networks.yaml. SpecError at a cell that cannot be
/// used. Runs that differ only in strategy, grid and GPUs share a case.
void each_run(Library& library, const Query& defaults, const MeasuredRuns& runs,
              const std::function<void(RunAsked&)>& each);
std::vector<RunAsked> ask_runs(Library& library, const Query& defaults, const MeasuredRuns& runs);
std::vector<RunAsked> ask_runs(const Catalog& catalog, const Query& defaults, const MeasuredRuns& runs);

/// SpecError if this text of a profiles/accuracy/networks.yaml cannot be read.
void check_readings(const SourceText& source);

/// A run with its projection.
Judged judge(const RunAsked& asked);

}  // namespace paradl
