#include "paradl/machine/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "paradl/machine/kernel_time.hpp"

namespace paradl {
namespace {

LocalLayer of_one_sample(LocalLayer layer) {
  layer.samples = 1;
  return layer;
}

/// Interpolates between two points, or extrapolates if `share` is below 0 or above 1; a time does not fall
/// below a tenth of that of the nearer point.
PassTimes between(const PassTimes& a, const PassTimes& b, double share) {
  PassTimes out{.noise = std::max(a.noise, b.noise)};
  for (const auto pass : {&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights}) {
    const Seconds least = 0.1 * (share < 0.5 ? a.*pass : b.*pass);
    out.*pass = std::max(least, (1 - share) * (a.*pass) + share * (b.*pass));
  }
  out.update = a.update;  // does not depend on samples
  return out;
}

constexpr std::array passes{&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights,
                            &PassTimes::update};

/// One way to split a layer: the size of the part, and the layer without the sizes that such splits change.
struct CutWay {
  double (*size)(const LocalLayer&);
  void (*forget)(LocalLayer&);
};
constexpr std::array<CutWay, 4> cut_ways{{
    {[](const LocalLayer& l) { return double(l.y_channels); }, [](LocalLayer& l) { l.y_channels = 0; }},
    {[](const LocalLayer& l) { return double(l.rows > 0 ? l.rows : l.x_channels); },
     [](LocalLayer& l) { l.x_channels = l.rows = 0; }},
    {[](const LocalLayer& l) { return double(l.y_channels); },
     [](LocalLayer& l) { l.x_channels = l.y_channels = l.groups = l.heads = l.kv_heads = 0; }},
    {[](const LocalLayer& l) { return double(l.y_positions()); },
     [](LocalLayer& l) {
       l.x_extent = l.y_extent = l.padding = {};
       l.kv_length = 0;
     }},
}};

LocalLayer family(LocalLayer layer, const CutWay& way) {
  layer.samples = 1;
  layer.weights = 0;
  way.forget(layer);
  return layer;
}

/// Measured time / modelled time, for one shape.
struct Correction {
  double size = 1;  // its logarithm
  PassTimes measured, modelled;
};

/// The correction of one pass at `size`: interpolated between its neighbours, constant beyond them, in
/// logarithms because corrections are ratios.
double correction(const std::vector<Correction>& sorted, double size, Seconds PassTimes::*pass) {
  const auto log_ratio = [&](const Correction& c) { return std::log(c.measured.*pass / c.modelled.*pass); };
  const auto next = std::ranges::lower_bound(sorted, size, {}, &Correction::size);
  if (next == sorted.begin()) return std::exp(log_ratio(sorted.front()));
  if (next == sorted.end()) return std::exp(log_ratio(sorted.back()));
  const Correction &a = *std::prev(next), &b = *next;
  const double share = b.size > a.size ? (size - a.size) / (b.size - a.size) : 1;
  return std::exp((1 - share) * log_ratio(a) + share * log_ratio(b));
}

}  // namespace

Profile::Profile(const ProfileSpec& spec) : name_(spec.name) {
  for (const ProfileSpec::Entry& entry : spec.entries)
    points_[of_one_sample(entry.layer)].push_back({double(entry.layer.samples), entry.time});
  for (auto& [layer, points] : points_) std::ranges::stable_sort(points, {}, &Point::samples);
}

std::optional<PassTimes> Profile::find(const LocalLayer& layer, const KernelDevice* model) const {
  const auto known = points_.find(of_one_sample(layer));
  const bool measured = known != points_.end();
  const auto samples = double(layer.samples);
  if (measured) {
    const std::vector<Point>& points = known->second;
    const auto next = std::ranges::lower_bound(points, samples, {}, &Point::samples);
    if (next != points.end() && next->samples == samples) return next->time;
    if (points.size() > 1) {
      const auto upper =
          std::clamp<std::ptrdiff_t>(next - points.begin(), 1, std::ptrdiff_t(points.size()) - 1);
      const Point &a = points[std::size_t(upper - 1)], &b = points[std::size_t(upper)];
      return between(a.time, b.time, (samples - a.samples) / (b.samples - a.samples));
    }
  }
  if (model) return corrected(layer, *model);
  if (!measured) return {};
  const Point& only = known->second.front();
  PassTimes time = only.time;
  for (const auto pass : {&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights})
    time.*pass *= samples / only.samples;
  return time;
}

/// Uses the way of splitting whose measured parts are nearest to this layer.
std::optional<PassTimes> Profile::corrected(const LocalLayer& layer, const KernelDevice& model) const {
  std::vector<Correction> best;
  double nearest = std::numeric_limits<double>::infinity(), best_size = 0;
  for (const CutWay& way : cut_ways) {
    const LocalLayer wanted = family(layer, way);
    const double size = std::log(way.size(layer));
    std::vector<Correction> found;
    double off = std::numeric_limits<double>::infinity();
    for (const auto& [shape, points] : points_) {
      if (shape.op != layer.op || family(shape, way) != wanted) continue;
      const auto distance = [&](const Point& p) {
        return std::abs(std::log(p.samples / double(layer.samples)));
      };
      const Point& point = *std::ranges::min_element(points, {}, distance);
      LocalLayer there = shape;
      there.samples = std::int64_t(point.samples);
      found.push_back({std::log(way.size(shape)), point.time, modelled_passes(model, there)});
      off = std::min(off, std::abs(found.back().size - size) + distance(point));
    }
    if (off >= nearest) continue;
    nearest = off, best_size = size;
    best = std::move(found);
  }
  if (best.empty()) return {};
  std::ranges::sort(best, {}, &Correction::size);
  PassTimes time = modelled_passes(model, layer);
  for (const auto pass : passes) {
    std::vector<Correction> known = best;
    std::erase_if(known, [&](const Correction& c) {
      return !(c.measured.*pass > Seconds{} && c.modelled.*pass > Seconds{});
    });
    time.*pass = known.empty() ? Seconds{} : correction(known, best_size, pass) * time.*pass;
  }
  for (const Correction& c : best) time.noise = std::max(time.noise, c.measured.noise);
  return time;
}

}  // namespace paradl
