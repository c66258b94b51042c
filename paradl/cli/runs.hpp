#pragma once
#include <functional>
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
  const MeasuredRuns* file = nullptr;  // that has it
  std::unique_ptr<Ask> ask;
  std::string framework;
  std::string model;               // what the run means by its model's name
  std::vector<std::string> notes;  // what else of it is read otherwise than it stands, and why
  bool as_written =
      true;  // no option changes on what its projection rests: then its `left_out` is of that level

  /// The best of the grids that the run leaves open, feasible or not: it did run. SpecError at its strategy
  /// if none has a cost.
  Projection project() const;
};

/// Puts every run as a question. What a run leaves open is taken from the command line; else the framework is
/// the system's own (that of the runs its links were fitted on), layer times come from the profile of the
/// model and device, an empty grid is the natural one (the innermost axis fills a node), and names
/// and settings mean what profiles/accuracy/networks.yaml says. SpecError at the cell that makes no question.
/// `each` may keep the question; what it leaves is used again for the next run of the same kind.
void each_run(const Catalog& catalog, const Options& options, const MeasuredRuns& runs,
              const std::function<void(RunAsked&)>& each);
std::vector<RunAsked> ask_runs(const Catalog& catalog, const Options& options, const MeasuredRuns& runs);

/// Refuses a profiles/accuracy/networks.yaml that cannot be read. SpecError.
void check_readings(const SourceText& source);

/// A run beside its projection.
Judged judge(const RunAsked& asked);

}  // namespace paradl
