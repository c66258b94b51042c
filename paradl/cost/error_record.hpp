#pragma once
#include <array>
#include <optional>
#include <vector>

#include "paradl/cost/accuracy.hpp"
#include "paradl/cost/nearest_record.hpp"

namespace paradl {

/// Errors are recorded apart from these numbers of GPUs on: 1; 65, beyond what parameters are fitted on; 512,
/// where other jobs and the network's distance add what is no part of a projection, and shown as a band.
inline constexpr std::array<double, 3> recorded_scales{1, 65, 512};
inline constexpr double large_scale = recorded_scales.back();

/// What runs say about projections of their level and strategy: an interval of measured / projected that
/// holds nine runs in ten of a new curve (a model's runs under one strategy), and 1.
///
/// A framework whose costs were fitted errs either way: its intervals lie around the projection, as wide as a
/// strategy's curves say, or those of all strategies where it has fewer than nine. `ideal` leaves out what
/// frameworks cost, which is another multiple of the time for each strategy, and so do closed forms (whose
/// level is that of `ideal`): their intervals lie around the strategy's own bias (the mean of its curves), as
/// wide as runs lie from what the other curves of their strategy foretell. Below a projection they reach no
/// farther than its layer times may be off, or a run was.
///
/// How wide is told by conformal prediction, that is no assumption on how errors are distributed, from nine
/// curves on; of fewer by Student's t. All rests on `unseen` projections: a run that took part in a fit says
/// little about the next one. Partial runs do not count. All strategies together are one record more, called
/// `any`, for strategies that no run had.
std::vector<RecordedError> record_errors(const std::vector<Judged>& runs,
                                         const std::vector<ParameterLevel>& levels);

/// How many runs lie in intervals that should hold nine in ten.
struct Coverage {
  std::size_t n = 0, inside = 0;
  double share() const { return n ? double(inside) / double(n) : 1; }
};
/// What is on record for a run, or for the nearest that has a record.
std::optional<RecordedError> expected_error(const std::vector<RecordedError>& recorded,
                                            const ParameterLevel& level, const Judged& run);
/// Of projections, in the intervals on record, or the nearest. Runs without one do not count.
Coverage coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels,
                  const std::vector<RecordedError>& recorded);
/// Of unseen projections, each curve (a model's runs under one strategy) in intervals that were recorded
/// without it: what a new curve may expect.
Coverage left_out_coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels);

}  // namespace paradl
