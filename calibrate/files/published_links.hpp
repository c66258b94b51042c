#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/files/system_file.hpp"
#include "calibrate/kernels/kernel_fit.hpp"

namespace paradl::calibrate {

/// Published times of one collective on one group of GPUs, by the size of its buffer.
struct PublishedCurve {
  std::string source, system, interconnect;
  Collective operation = Collective::allreduce;
  MeasuredGroup group;  // with 0 nodes if their number is not stated
  std::vector<Observation> points;

  std::size_t sizes() const;  // number of different sizes
};

/// "allreduce on 16 GPUs of 2 nodes".
std::string name_of(const PublishedCurve& curve);

struct PublishedLinks {
  std::vector<PublishedCurve> curves;  // in the order in which they first appear
  std::size_t skipped = 0;             // rows that are not times of collectives
};

/// A table with the columns source, system, interconnect, collective, gpus, nodes, bytes, time_us. Others are
/// ignored, except algo_note, which distinguishes curves. `bytes` is the size of the whole buffer, for an
/// all_gather of one rank's part. SpecError if it is not such a table.
PublishedLinks read_published_links(const SourceText& table);

/// A curve in ranges of size, with its errors on the fitted points and, if there are enough sizes, on every
/// second size from a fit to the others.
struct CurveFit {
  PublishedCurve curve;
  std::vector<RangeFit> ranges;
  KernelErrors errors;
  std::optional<KernelErrors> left_out;
};

/// The times of published allreduces drop by a sixth where the protocol changes; a drop by half means that a
/// table mixes two kinds of timings.
inline constexpr RangeOptions published_ranges{.most_fall = 0.25};

/// Nothing if there are fewer than three sizes, because a line has two parameters.
std::optional<CurveFit> fit_curve(const PublishedCurve& curve,
                                  const RangeOptions& options = published_ranges);

/// "164 sizes, median 1.2 %, nine in ten within 3.4 %, 1.3 % on sizes left out".
std::string quality_of(const CurveFit& fit);

/// Whether the median error on left-out sizes is at most a fifth. If not, the curve cannot predict other
/// sizes.
bool predicts(const CurveFit& fit);

/// A system file with the curves as `measured` of its levels; everything else stays, also latency and
/// bandwidth. Curves that do not predict are left out. UsageError if two curves have the same group, or if
/// the system does not have such a group.
std::string with_published_links(const SystemSpec& system, const std::vector<CurveFit>& fits);

}  // namespace paradl::calibrate
