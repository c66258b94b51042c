#include "calibrate/fit/link_points.hpp"

#include <algorithm>

namespace paradl::calibrate {

Observation observation(const LinkPoint& point) {
  const double p = point.ranks, m = point.bytes.base();
  Observation out{.seconds = point.seconds.base(), .size = m};
  switch (point.operation) {
    case Collective::allreduce:
      out.messages = 2 * (p - 1);
      out.bytes = 2 * (p - 1) * m / p;
      break;
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      out.messages = p - 1;
      out.bytes = (p - 1) * m / p;
      break;
    case Collective::point_to_point:
      out.messages = 1;
      out.bytes = m;
      break;
  }
  return out;
}

std::vector<LinkFit> fit_links(const std::vector<LinkPoint>& points, const RangeOptions& options) {
  std::vector<LinkFit> fits;
  for (const LinkPoint& point : points) {
    const auto same = [&](const LinkFit& fit) {
      return fit.operation == point.operation && fit.level == point.level;
    };
    auto fit = std::find_if(fits.begin(), fits.end(), same);
    if (fit == fits.end())
      fit = fits.insert(fits.end(), {.operation = point.operation, .level = point.level});
    if (std::find(fit->ranks.begin(), fit->ranks.end(), point.ranks) == fit->ranks.end())
      fit->ranks.push_back(point.ranks);
  }
  for (LinkFit& fit : fits) {
    std::vector<Observation> own;
    for (const LinkPoint& point : points)
      if (point.operation == fit.operation && point.level == fit.level) own.push_back(observation(point));
    fit.ranges = fit_ranges(own, options);
    fit.mean_error = mean_error(fit.ranges, own);
  }
  return fits;
}

bool rises(const LinkFit& fit) { return fit.ranges.back().line.beta.value > 0; }

}  // namespace paradl::calibrate
