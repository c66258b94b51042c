#pragma once
#include <memory>
#include <string>
#include <vector>

#include "paradl/cli/ask.hpp"
#include "paradl/cost/accuracy.hpp"
#include "paradl/spec/measured_runs.hpp"

namespace paradl {

/// A measured run as a question: one strategy, one number of GPUs.
struct RunAsked {
  const MeasuredRun* run = nullptr;
  std::unique_ptr<Ask> ask;
  std::string framework;
  std::string model;               // what the run means by its model's name
  std::vector<std::string> notes;  // what else of it is read otherwise than it stands, and why

  /// The best of the grids that the run leaves open, feasible or not: it did run. UsageError if none has a
  /// cost.
  Projection project() const;
};

/// Puts every run as a question. What a run leaves open is taken from the command line; else the framework is
/// the system's own (that of the runs its links were fitted on), layer times come from the profile of the
/// model and device, an empty grid is the natural one (the innermost axis fills a node), and names
/// and settings mean what accuracy/networks.yaml says. SpecError at the cell that makes no question.
std::vector<RunAsked> ask_runs(const Catalog& catalog, const Options& options, const MeasuredRuns& runs);

/// A run beside its projection.
Judged judge(const RunAsked& asked);

}  // namespace paradl
