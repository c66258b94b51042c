#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/measure/contention.hpp"
#include "paradl/console/session.hpp"
#include "paradl/cost/projection.hpp"

namespace paradl::calibrate {

/// What ranks of a node cost each other at one kind of work.
struct SharedWork {
  std::string name;  // "copy of 32 MB", "conv2 of tiny-cnn"
  std::vector<Slowdown> slowdowns;
};

struct ContentionOutcome {
  bool between_nodes = false;
  std::optional<Contention> flows;  // none: fewer than two pairs of ranks
  std::vector<SharedWork> memory;   // empty: no node has two ranks
  bool interrupted = false;
};

/// Flows between up to `most` pairs of ranks, and work of ranks beside each other; of `work` its heaviest
/// layer, if there is one. All ranks call it, and all get the same. Goes on from what an interrupted run
/// kept, and keeps what it has if it is interrupted itself. UsageError on one rank.
ContentionOutcome run_contention(const Session& session, const Bench& bench, int most,
                                 const ContentionOptions& options, const Workload* work,
                                 const BatchRule& batch, const KeptSamples& kept);

std::string contention_text(const ContentionOutcome& outcome, Style style);
/// All of it in one table.
Table contention_table(const ContentionOutcome& outcome);

}  // namespace paradl::calibrate
