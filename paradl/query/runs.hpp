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
  const MeasuredRuns* file = nullptr;  // that has it
  Oracle oracle;
  std::string framework;
  std::string model;               // what the run means by its model's name
  std::vector<std::string> notes;  // what else of it is read otherwise than it stands, and why
  bool as_written =
      true;  // no default changes on what its projection rests: then its `left_out` is of that level

  const Case& about() const { return oracle.about(); }
  /// The best of the grids that the run leaves open, feasible or not: it did run. SpecError at its strategy
  /// if none has a cost.
  Projection project() const;
};

/// Puts every run as a question. What a run leaves open is taken from `defaults`; else the framework is the
/// system's own (that of the runs its links were fitted on), layer times come from the profile of the model
/// and device, an empty grid is the natural one (the innermost axis fills a node), and names and settings
/// mean what profiles/accuracy/networks.yaml says. SpecError at the cell that makes no question. Runs that
/// differ in nothing but strategy, grid and GPUs share a case.
void each_run(Library& library, const Query& defaults, const MeasuredRuns& runs,
              const std::function<void(RunAsked&)>& each);
std::vector<RunAsked> ask_runs(Library& library, const Query& defaults, const MeasuredRuns& runs);
std::vector<RunAsked> ask_runs(const Catalog& catalog, const Query& defaults, const MeasuredRuns& runs);

/// Refuses a profiles/accuracy/networks.yaml that cannot be read. SpecError.
void check_readings(const SourceText& source);

/// A run beside its projection.
Judged judge(const RunAsked& asked);

}  // namespace paradl
