#pragma once
#include <array>
#include <optional>
#include <vector>

#include "paradl/cost/accuracy.hpp"
#include "paradl/cost/nearest_record.hpp"

namespace paradl {

/// Errors are recorded separately for scales that begin at these numbers of GPUs: 1; 65, beyond the runs that
/// parameters are fitted on; 512, where other jobs and long distances in the network add time that is not
/// part of a projection, but shown as a band.
inline constexpr std::array<double, 3> recorded_scales{1, 65, 512};
inline constexpr double large_scale = recorded_scales.back();

/// Derives error intervals from measured runs, by level of parameters and strategy. An interval of
/// measured / projected holds nine in ten runs of a new curve (a model's runs under one strategy), and 1.
///
/// If the costs of a framework were fitted, projections err both ways: intervals are centred on the
/// projection. Their width comes from the strategy's curves, or from those of all strategies if it has fewer
/// than nine. `ideal` leaves out the costs of frameworks, which multiply the time by a different factor for
/// each strategy; so do closed forms, which have the level of `ideal`. Their intervals are centred on the
/// strategy's own bias (the mean of its curves), and their width comes from the differences between runs and
/// what the other curves of their strategy predict. Below the projection they end where layer times may be
/// too long, or where the fastest run was.
///
/// With nine or more curves, conformal prediction gives the width, without assuming a distribution of errors;
/// with fewer, Student's t does. All errors are those of `unseen` projections, since a run that took part in
/// a fit says little about the next one. Partial runs do not count. One more record, called `any`, combines
/// all strategies, for strategies without runs.
std::vector<RecordedError> record_errors(const std::vector<Judged>& runs,
                                         const std::vector<ParameterLevel>& levels);

/// How many runs are inside intervals that should hold nine in ten.
struct Coverage {
  std::size_t n = 0, inside = 0;
  double share() const { return n ? double(inside) / double(n) : 1; }
};
/// The recorded error for a run's level and strategy, or the nearest one on record.
std::optional<RecordedError> expected_error(const std::vector<RecordedError>& recorded,
                                            const ParameterLevel& level, const Judged& run);
/// Coverage of projections by the recorded intervals, or the nearest ones. Runs without one do not count.
Coverage coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels,
                  const std::vector<RecordedError>& recorded);
/// Coverage of unseen projections: each curve is tested with intervals that were recorded without it, as a
/// new curve would be.
Coverage left_out_coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels);

}  // namespace paradl
