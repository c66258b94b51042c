#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/measure/contention.hpp"
#include "paradl/console/session.hpp"
#include "paradl/cost/projection.hpp"

namespace paradl::calibrate {

struct ContentionJob {
  int flows = 4;  // at most, at the same time
  ContentionOptions options;
  std::optional<Workload> work;  // its heaviest layer is also timed beside other ranks
  BatchRule batch;
  std::string kept_path;  // of samples, if the run is interrupted
};

/// How much ranks of one node slow each other down.
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

/// Measures flows between pairs of ranks, and work of ranks beside each other. All ranks call it and get the
/// same result. It continues from the samples of an interrupted run, and keeps its own if it is interrupted.
ContentionOutcome run_contention(const Session& session, const Bench& bench, const ContentionJob& job);

std::string contention_text(const ContentionOutcome& outcome, Style style);

}  // namespace paradl::calibrate
