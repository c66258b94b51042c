#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/files/system_file.hpp"
#include "calibrate/kernels/kernel_fit.hpp"

namespace paradl::calibrate {

/// Times of one collective on one group of GPUs that somebody published, over the size of its buffer.
struct PublishedCurve {
  std::string source, system, interconnect;
  LinkOperation operation = LinkOperation::allreduce;
  MeasuredGroup group;  // of 0 nodes, if their number is not told
  std::vector<Observation> points;

  std::size_t sizes() const;  // different ones
};

/// "allreduce on 16 GPUs of 2 nodes".
std::string name_of(const PublishedCurve& curve);

struct PublishedLinks {
  std::vector<PublishedCurve> curves;  // in the order in which they first appear
  std::size_t passed_over = 0;         // rows of something else than a collective's time
};

/// A table with the columns source, system, interconnect, collective, gpus, nodes, bytes, time_us; others are
/// not read but algo_note, which tells curves apart. `bytes` are of the whole buffer, those of an all_gather
/// of one rank's part. SpecError where it is no such table.
PublishedLinks read_published_links(const SourceText& table);

/// A curve by ranges of its size, and how far off that is: on the points it was fitted to, and on every
/// second size, when fitted to the others (if there are enough).
struct CurveFit {
  PublishedCurve curve;
  std::vector<RangeFit> ranges;
  KernelErrors errors;
  std::optional<KernelErrors> left_out;
};

/// Published all-reduces fall by a sixth where a protocol changes; a fall by half tells of two kinds of
/// timings in one table.
inline constexpr RangeOptions published_ranges{.most_fall = 0.25};

/// Nothing if there are fewer than three sizes: a line has two numbers.
std::optional<CurveFit> fit_curve(const PublishedCurve& curve,
                                  const RangeOptions& options = published_ranges);

/// "164 sizes, median 1.2 %, nine in ten within 3.4 %, 1.3 % on sizes left out".
std::string quality_of(const CurveFit& fit);

/// Whether sizes that were left out lie within a fifth of it, in the median: if not, what the curve would say
/// of other sizes is worth nothing.
bool predicts(const CurveFit& fit);

/// A system file with `measured` of the levels that the curves are of; its latencies, bandwidths and all else
/// stay. Curves that predict nothing are left out. UsageError if two curves are of the same group, or if the
/// system has no such group.
std::string with_published_links(const SourceText& system, const std::vector<CurveFit>& fits);

}  // namespace paradl::calibrate
