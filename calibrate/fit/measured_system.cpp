#include "calibrate/fit/measured_system.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/units.hpp"

namespace paradl::calibrate {
namespace {

Seconds latency(const LineFit& line) {
  constexpr double least = 1e-15;  // s; files accept nothing shorter but zero
  return Seconds{line.alpha.value < least ? 0.0 : line.alpha.value};
}

/// A line without a time per byte gets the highest bandwidth that a file accepts.
Bandwidth bandwidth(const LineFit& line) {
  const Range range = plausible<Bandwidth>();
  return Bandwidth{std::clamp(1 / line.beta.value, range.least, range.most)};
}

}  // namespace

std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points,
                                           const std::vector<int>& nodes) {
  const int count = 1 + *std::ranges::max_element(nodes), ranks = int(nodes.size());
  std::vector<MeasuredLevel> out;
  if (ranks / count > 1 || count == 1)
    out.push_back({.level = GroupLevel::node, .size = ranks / count, .fits = {}});
  if (count > 1) out.push_back({.level = GroupLevel::cluster, .size = count, .fits = {}});
  for (const LinkFit& fit : fit_links(points))
    for (MeasuredLevel& level : out)
      if (fit.level == level.level && rises(fit)) level.fits.push_back(fit);
  return out;
}

std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points) {
  std::vector<MeasuredLevel> out;
  const auto fits = fit_links(points);
  for (const GroupLevel which : {GroupLevel::node, GroupLevel::cluster}) {
    MeasuredLevel level{.level = which, .size = 1, .fits = {}};
    for (const LinkFit& fit : fits)
      if (fit.level == which && rises(fit)) {
        level.fits.push_back(fit);
        level.size = std::max(level.size, std::ranges::max(fit.ranks));
      }
    if (!level.fits.empty()) out.push_back(std::move(level));
  }
  return out;
}

LineFit summary_line(const MeasuredLevel& level) {
  if (level.fits.empty())
    throw UsageError(fmt::format("nothing was measured on level `{}`", name_of(level.level)));
  for (const LinkFit& fit : level.fits)
    if (fit.operation == Collective::point_to_point) return fit.ranges.back().line;
  return level.fits.front().ranges.back().line;
}

MeasuredLinkSpec link_spec(const LinkFit& fit, const RangeFit& range) {
  return {.operation = fit.operation,
          .group = fit.group,
          .from = Bytes{range.from},
          .below = Bytes{range.below},
          .latency = latency(range.line),
          .bandwidth = bandwidth(range.line)};
}

LevelSpec level_spec(const MeasuredLevel& level) {
  LevelSpec out{.name = name_of(level.level), .size = level.size};
  if (level.fits.empty()) {
    out.latency = Seconds{1e-6};
    out.bandwidth = Bandwidth{10e9};
    return out;
  }
  const LineFit line = summary_line(level);
  out.latency = latency(line);
  out.bandwidth = bandwidth(line);
  for (const LinkFit& fit : level.fits)
    for (const RangeFit& range : fit.ranges) out.measured.push_back(link_spec(fit, range));
  return out;
}

SystemSpec system_spec(const MeasuredSystem& system) {
  SystemSpec out{.name = system.name, .summary = system.summary, .device = system.device};
  for (const MeasuredLevel& level : system.levels) out.levels.push_back(level_spec(level));
  return out;
}

}  // namespace paradl::calibrate
