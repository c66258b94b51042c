#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/rehearse/rehearsal.hpp"
#include "paradl/console/session.hpp"
#include "paradl/report/formats.hpp"

namespace paradl::calibrate {

struct RehearsalJob {
  Workload work;
  std::vector<Candidate> candidates;
  RehearsalOptions how;
  int ranks = 1;
  std::vector<std::string> read = {};  // paths of the files that were read
};

/// Which strategies to rehearse, and on which grids.
struct CandidateQuery {
  std::vector<StrategyName> strategies;
  std::optional<std::vector<Parts>> grid;  // of the only strategy; none: the first that the network allows
  bool every_axis_split = true;  // leaves out hybrids with one rank on an axis: they equal a simpler strategy
};
/// All single strategies and their usual hybrids, for --all.
CandidateQuery all_candidates();
/// UsageError if no strategy fits.
std::vector<Candidate> find_candidates(const CandidateQuery& query, const Workload& work, int ranks,
                                       double samples);

/// Runs the job with a line of progress, until it is interrupted. All ranks call it.
Rehearsal run_rehearsal(const Session& session, const Bench& bench, const RehearsalJob& job);

/// The result. It refers to its arguments, which must outlive it.
Output rehearsal_answer(const Session& session, const RehearsalJob& job, const Rehearsal& rehearsal);

/// For --dry-run: what would be run, and about how long it takes.
std::string rehearsal_plan(const RehearsalJob& job, const DeviceFacts& facts, const Rates& rates);

}  // namespace paradl::calibrate
