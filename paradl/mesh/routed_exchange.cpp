// The time of a schedule is linear in the bytes of the buffer as long as every message keeps its route: a
// step has its longest latency, and its busiest wire carries a fixed share of the buffer. A pipeline can
// choose the number of segments, so its time is the least of several lines. If large messages use optical
// circuits, there is a line for each range of sizes.
//
//   S  segments     n  rounds until the farthest rank has its first segment     m  bytes of the buffer
#include "paradl/mesh/routed_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "paradl/mesh/routed.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/flows/step_load.hpp"
#include "paradl/network/topology/optical.hpp"

namespace paradl {
namespace {

constexpr std::size_t most_messages = 1'000'000;  // routed in about a second
constexpr std::size_t most_ranges = 32;           // of sizes, if large messages use circuits

AxisSet others(const Mesh& mesh, AxisSet set) { return AxisSet(((1u << mesh.axes) - 1) & ~unsigned(set)); }

class Router {
 public:
  Router(const Algorithm& algorithm, const Job& job, const Mesh& mesh, AxisSet set, const Topology& topology)
      : algorithm_(algorithm),
        job_(job),
        mesh_(mesh),
        set_(set),
        topology_(topology),
        optical_(dynamic_cast<const OpticalTopology*>(&topology)),
        seats_(std::size_t(mesh.gpus())) {
    std::iota(seats_.begin(), seats_.end(), 0);
  }

  std::optional<RoutedExchange> route() {
    if (algorithm_.pipelines(job_.operation) && optical_) return {};
    const std::vector<Bytes> borders = sizes_where_ways_change();
    if (borders.size() > most_ranges) return {};
    for (std::size_t i = 0; i <= borders.size(); ++i) {
      range_ = {.time = {}};
      if (i > 0) range_.from = borders[i - 1];
      if (i < borders.size()) range_.below = borders[i];
      known_.clear();
      if (!add_lines()) return {};
    }
    return out_;
  }

 private:
  /// A buffer size in the middle of the range.
  Bytes size() const {
    const double from = range_.from.base(), below = range_.below.base();
    if (std::isinf(below)) return from > 0 ? Bytes{2 * from} : Bytes{1e6};
    return from > 0 ? Bytes{std::sqrt(from * below)} : Bytes{below / 2};
  }

  /// Buffer sizes at which one more message changes between packets and a circuit.
  std::vector<Bytes> sizes_where_ways_change() const {
    if (!optical_) return {};
    Job job = job_;
    job.bytes = Bytes{1};
    std::set<double> sizes;
    for (const Flow& flow : algorithm_.schedule(job).flows)
      if (flow.bytes > Bytes{}) sizes.insert(optical_->optics().threshold.base() / flow.bytes.base());
    std::vector<Bytes> out;
    for (const double size : sizes) out.emplace_back(size);
    return out;
  }

  bool add_lines() {
    if (!algorithm_.pipelines(job_.operation)) {
      const auto line = load(0);
      if (line) add(*line);
      return line.has_value();
    }
    for (int S = 1; S <= most_segments; S *= 2) {
      const auto line = pipelined(S, algorithm_.rounds(job_));
      if (!line) return false;
      add(*line);
    }
    return true;
  }

  void add(const Linear& line) {
    range_.time = line;
    out_.time.add(range_);
  }

  /// A full pipeline repeats the same n steps: beyond `few` segments, every n more segments add the same
  /// time. The extension is exact, and a thousand segments need not be routed.
  std::optional<Linear> pipelined(int S, int n) {
    const int few = 2 * n + S % std::max(n, 1);
    if (n < 1 || S < few + n) return load(S);
    const auto a = load(few), b = load(few + n);
    if (!a || !b) return {};
    const double more = double(S - few) / n;
    return Linear{a->fixed + more * (b->fixed - a->fixed),
                  (few * a->per_byte + more * ((few + n) * b->per_byte - few * a->per_byte)) / S};
  }

  /// The line for one number of segments, from the routes of all its messages.
  std::optional<Linear> load(int segments) {
    const auto found = known_.find(segments);
    if (found != known_.end()) return found->second;
    Job job = job_;
    job.bytes = size();
    job.segments = segments;
    const Schedule one = algorithm_.schedule(job);
    if (one.flows.size() * (seats_.size() / std::size_t(job.ranks)) > most_messages) return {};
    const Schedule all = in_all_groups(one, mesh_, set_);
    const Loads loads(all, topology_, Routes(all, topology_, seats_));
    Linear line{setup_of(all, topology_, seats_), selection_of(algorithm_, job)};
    RoutedExchange here;
    for (std::size_t s = 0; s < all.steps.size(); ++s) {
      const StepLoad& step = loads.step[s];
      const int repeat = all.steps[s].repeat;
      line.fixed += repeat * Seconds{step.latency};
      line.per_byte += repeat * Seconds{step.busy} / job.bytes;
      if (step.wire >= 0) {
        here.alike = here.alike && (here.wire < 0 || std::abs(step.phi - here.phi) < 1e-9);
        if (here.wire < 0 || step.phi > here.phi)
          here.phi = step.phi, here.wire = step.wire, here.step = here.steps + 1;
      }
      here.steps += repeat;
    }
    if (algorithm_.pipelines(job_.operation)) here.step = here.steps = 0;
    std::swap(here.time, out_.time);
    out_ = std::move(here);
    known_[segments] = line;
    return line;
  }

  const Algorithm& algorithm_;
  const Job& job_;
  const Mesh& mesh_;
  AxisSet set_;
  const Topology& topology_;
  const OpticalTopology* optical_;  // if large messages use circuits
  std::vector<int> seats_;
  Curve::Choice range_;
  std::map<int, Linear> known_;  // by segments
  RoutedExchange out_;
};

}  // namespace

Schedule in_all_groups(const Schedule& one, const Mesh& mesh, AxisSet set) {
  const std::vector<int> member = member_offsets(mesh, set), group = member_offsets(mesh, others(mesh, set));
  Schedule out;
  out.ranks = int(mesh.gpus());
  out.flows.reserve(one.flows.size() * group.size());
  for (const Step& step : one.steps) {
    out.begin(step.repeat);
    for (const int first : group)
      for (const Flow& flow : one.of(step))
        out.add({.source = first + member[std::size_t(flow.source)],
                 .target = first + member[std::size_t(flow.target)],
                 .arrival = flow.arrival,
                 .bytes = flow.bytes});
  }
  return out;
}

std::optional<RoutedExchange> route_exchange(const Algorithm& algorithm, const Job& job, const Mesh& mesh,
                                             AxisSet set, const Topology& topology) {
  if (algorithm.tabulated || !is_small(algorithm, job, NetworkFidelity::link_load) ||
      mesh.gpus() > topology.hosts())
    return {};
  return Router(algorithm, job, mesh, set, topology).route();
}

}  // namespace paradl
