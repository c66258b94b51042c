#pragma once
#include <string>
#include <vector>

#include "calibrate/rehearse/rehearsal.hpp"
#include "paradl/console/options.hpp"

namespace paradl::calibrate {

/// `16` samples of all ranks together, `8/gpu`, `16/node`; the model file's batch, per rank, by default.
std::int64_t read_samples(const Options& options, const Workload& work, int ranks, int nodes);

/// What --all tries: single strategies, and their usual hybrids where there are ranks enough.
std::vector<StrategyName> all_strategies();

/// A hybrid with one PE on an axis is another strategy's name for the same.
enum class Ones { allowed, refused };

/// Each strategy on its first grid of so many ranks that the network can have, or on the grid that is given.
/// UsageError if none has any.
std::vector<Candidate> find_candidates(const std::vector<StrategyName>& strategies, const std::string& grid,
                                       Ones ones, const Workload& work, int ranks, double samples);

}  // namespace paradl::calibrate
