#pragma once
#include <array>
#include <string>
#include <vector>

#include "calibrate/fit/line.hpp"
#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/spec/measured_link.hpp"

namespace paradl::calibrate {

/// What a group of ranks spans: one node, one rank of each node, or nodes with several ranks on each.
enum class GroupLevel { node, cluster, all };
inline constexpr std::array<std::string_view, 3> group_level_names{"node", "cluster", "all"};
static_assert(names_every(GroupLevel::all, group_level_names), "name every GroupLevel");
inline std::string name_of(GroupLevel level) { return std::string(group_level_names[std::size_t(level)]); }

/// The time of one operation on `ranks` ranks.
struct LinkPoint {
  Collective operation = Collective::point_to_point;
  GroupLevel level = GroupLevel::node;
  int ranks = 2;
  Bytes bytes;  // of the whole buffer; all-to-all: the buffer of one rank; point-to-point: the message
  Seconds seconds;
  double noise = 0;  // relative half-width of the 95 % confidence interval; zero: not known
};

/// The same as messages and bytes of the operation's ring: T = messages alpha + bytes beta.
///
///     allreduce                  2(p-1)(alpha + m/p beta)
///     allgather, reduce-scatter   (p-1)(alpha + m/p beta)
///     all-to-all                  (p-1) alpha + m (p-1)/p beta
///     point-to-point              alpha + m beta
Observation observation(const LinkPoint& point);

/// Alpha and beta of one message of an operation's ring on one level, by ranges of the buffer's size.
struct LinkFit {
  Collective operation = Collective::point_to_point;
  GroupLevel level = GroupLevel::node;
  std::vector<int> ranks;  // of the fitted groups
  std::vector<RangeFit> ranges;
  double mean_error = 0;     // |fitted - measured| / measured
  MeasuredGroup group = {};  // if stated, the fit is for this group only
  std::string origin = {};   // of published timings
  std::string quality = {};  // the errors in words, for published timings
};

/// Whether larger buffers take longer; if not, the bandwidth is unknown.
bool rises(const LinkFit& fit);

/// One fit for each operation and level, in the order in which they first appear.
std::vector<LinkFit> fit_links(const std::vector<LinkPoint>& points, const RangeOptions& options = {});

}  // namespace paradl::calibrate
