#include "paradl/machine/profile.hpp"

#include <algorithm>

namespace paradl {
namespace {

LocalLayer of_one_sample(LocalLayer layer) {
  layer.samples = 1;
  return layer;
}

/// The line through two points at `share` of the way from one to the other, which may lie beyond both; a time
/// does not fall below a tenth of the nearer one.
PassTimes between(const PassTimes& a, const PassTimes& b, double share) {
  PassTimes out{.noise = std::max(a.noise, b.noise)};
  for (const auto pass : {&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights}) {
    const Seconds least = 0.1 * (share < 0.5 ? a.*pass : b.*pass);
    out.*pass = std::max(least, (1 - share) * (a.*pass) + share * (b.*pass));
  }
  out.update = a.update;  // does not depend on samples
  return out;
}

}  // namespace

Profile::Profile(const ProfileSpec& spec) : name_(spec.name) {
  for (const ProfileSpec::Entry& entry : spec.entries)
    points_[of_one_sample(entry.layer)].push_back({double(entry.layer.samples), entry.time});
  for (auto& [layer, points] : points_) std::ranges::stable_sort(points, {}, &Point::samples);
}

std::optional<PassTimes> Profile::find(const LocalLayer& layer) const {
  const auto known = points_.find(of_one_sample(layer));
  if (known == points_.end()) return {};
  const std::vector<Point>& points = known->second;
  const auto samples = double(layer.samples);
  const auto next = std::ranges::lower_bound(points, samples, {}, &Point::samples);
  if (next != points.end() && next->samples == samples) return next->time;
  if (points.size() == 1) {
    PassTimes time = points[0].time;
    const double ratio = samples / points[0].samples;
    time.forward *= ratio;
    time.backward_data *= ratio;
    time.backward_weights *= ratio;
    return time;
  }
  const auto upper = std::clamp<std::ptrdiff_t>(next - points.begin(), 1, std::ptrdiff_t(points.size()) - 1);
  const Point &a = points[std::size_t(upper - 1)], &b = points[std::size_t(upper)];
  return between(a.time, b.time, (samples - a.samples) / (b.samples - a.samples));
}

}  // namespace paradl
