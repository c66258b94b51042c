#include "paradl/network/flows/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paradl {
namespace {

/// The least latency for weights, so that they stay finite if a latency is zero.
constexpr double least_latency = 1e-9;  // s
constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr bool above(double level, double other) { return level > other * (1 + 1e-12); }  // not by rounding

}  // namespace

MaxMin::MaxMin(const Topology& topology, const Routes& routes)
    : routes_(routes),
      wire_(topology.wires().size()),
      flow_(routes.route.size()),
      crossing_(routes.wires.size()) {
  for (std::size_t w = 0; w < wire_.size(); ++w) {
    wire_[w].bandwidth = 1 / topology.wires()[w].link.beta.base();
    fastest_ = std::max(fastest_, wire_[w].bandwidth);
  }
}

// Steps that send the same share their crossings. This is correct, because their flows have the same ranks,
// and a rank is in one step at a time.
void MaxMin::enter(std::uint32_t flow, std::uint32_t count) {
  const Route& route = routes_.route[flow];
  for (std::uint32_t c = route.first; c < route.first + route.count; ++c) {
    const auto w = std::uint32_t(routes_.wires[c]);
    WireState& wire = wire_[w];
    crossing_[c] = {.flow = flow, .before = none, .after = wire.head};
    if (wire.head != none) crossing_[wire.head].before = c;
    wire.head = c;
    wire.flows += count;
    wire.gained = true;
    touch(w);
  }
  flow_[flow] = {.weight = count / std::max(route.latency, least_latency),
                 .level = infinite,  // it would take all it can get
                 .count = count};
  entered_.push_back(flow);
  ++size_;
}

void MaxMin::leave(std::uint32_t flow) {
  const Route& route = routes_.route[flow];
  const bool had_rate = flow_[flow].level < infinite;
  if (had_rate) --wire_[flow_[flow].binding].bound;
  for (std::uint32_t c = route.first; c < route.first + route.count; ++c) {
    const auto w = std::uint32_t(routes_.wires[c]);
    const Crossing& gone = crossing_[c];
    (gone.before != none ? crossing_[gone.before].after : wire_[w].head) = gone.after;
    if (gone.after != none) crossing_[gone.after].before = gone.before;
    wire_[w].flows -= flow_[flow].count;
    if (had_rate) wire_[w].carried -= flow_[flow].weight * flow_[flow].level;
    if (wire_[w].flows == 0) wire_[w].carried = 0;  // without what rounding left
    touch(w);
  }
  --size_;
  if (!had_rate) std::erase(entered_, flow);
}

void MaxMin::touch(std::uint32_t wire) {
  if (wire_[wire].touched) return;
  wire_[wire].touched = true;
  touched_.push_back(wire);
}

std::span<const std::uint32_t> MaxMin::settle() {
  for (const std::uint32_t flow : entered_) release(flow);
  for (const std::uint32_t w : touched_) {
    const bool gained = wire_[w].gained && can_bind(wire_[w]);
    wire_[w].touched = wire_[w].gained = false;
    if (gained) {
      open(w);
      release_higher(w);
    } else {
      release_bound_by(w);  // flows bound by other wires do not need the free bandwidth
    }
  }
  entered_.clear();
  touched_.clear();
  do {
    release_bound();
  } while (!fill());

  changed_.clear();
  for (const auto& [flow, before] : releases_) {
    flow_[flow].released = false;
    const double level = flow_[flow].level;
    if (above(level, before) || above(before, level)) changed_.push_back(flow);
  }
  for (const std::uint32_t w : open_) wire_[w].open = false;
  releases_.clear();
  open_.clear();
  spread_ = 0;
  return changed_;
}

/// A wire that has to be shared again.
void MaxMin::open(std::uint32_t wire) {
  if (wire_[wire].open) return;
  wire_[wire].open = true;
  open_.push_back(wire);
}

/// A flow whose level is no longer valid: the load of all its wires may change.
void MaxMin::release(std::uint32_t flow) {
  if (flow_[flow].released) return;
  flow_[flow].released = true;
  releases_.push_back({flow, flow_[flow].level});
  wait(flow);
}

/// Its wires no longer count it, and have to be shared again.
void MaxMin::wait(std::uint32_t f) {
  FlowState& flow = flow_[f];
  flow.waiting = true;
  ++waiting_;
  const bool had_rate = flow.level < infinite;
  if (had_rate) --wire_[flow.binding].bound;
  for (const int w : routes_.of(f)) {
    WireState& wire = wire_[std::size_t(w)];
    if (had_rate) wire.carried -= flow.weight * flow.level;
    wire.weight += flow.weight;
    ++wire.waiting;
    if (can_bind(wire)) open(std::uint32_t(w));
  }
}

/// Flows whose rate on a wire will probably have to shrink. A wrong guess costs time, but the result stays
/// correct.
void MaxMin::release_higher(std::uint32_t wire) {
  std::uint32_t settled = wire_[wire].head;
  while (settled != none && flow_[crossing_[settled].flow].released) settled = crossing_[settled].after;
  if (settled == none) return;
  const double level = full_level(wire);
  for (std::uint32_t c = wire_[wire].head; c != none; c = crossing_[c].after)
    if (flow_[crossing_[c].flow].level > level) release(crossing_[c].flow);
}

/// The level at which a wire is full if those below it stay where they are.
double MaxMin::full_level(std::uint32_t wire) const {
  for (double level = 0;;) {
    double left = wire_[wire].bandwidth, weight = 0;
    for (std::uint32_t c = wire_[wire].head; c != none; c = crossing_[c].after) {
      const std::uint32_t flow = crossing_[c].flow;
      if (flow_[flow].level < level)
        left -= flow_[flow].weight * flow_[flow].level;
      else
        weight += flow_[flow].weight;
    }
    if (weight == 0) return infinite;
    const double next = left / weight;
    if (!above(next, level)) return level;
    level = next;
  }
}

/// The flows that are bound by an open wire, and by the wires that open with them.
void MaxMin::release_bound() {
  for (; spread_ < open_.size(); ++spread_) release_bound_by(open_[spread_]);
}

void MaxMin::release_bound_by(std::uint32_t wire) {
  for (std::uint32_t c = wire_[wire].head; wire_[wire].bound > 0; c = crossing_[c].after)
    if (flow_[crossing_[c].flow].binding == wire) release(crossing_[c].flow);
}

/// Progressive filling: the wire that is full at the lowest level binds all flows that wait for it; their
/// rates are then subtracted from their other wires. False if another flow had to be released.
bool MaxMin::fill() {
  for (const Release& r : releases_)
    if (!flow_[r.flow].waiting) wait(r.flow);
  collect_candidates();
  if (!fill_lowest() || !fill_in_order()) return false;
  if (waiting_ == 0) return true;
  for (const auto& [flow, before] : releases_)
    if (flow_[flow].waiting)  // still unbound: it shares no wire
      give(flow, 1 / (routes_.route[flow].beta * flow_[flow].weight), std::uint32_t(routes_.of(flow)[0]));
  return true;
}

/// All wires that are full at the lowest level. Similar flows mostly come and go together and share one
/// level, so that nothing needs to be sorted for them.
bool MaxMin::fill_lowest() {
  double lowest = infinite;
  for (const Candidate& candidate : candidates_) lowest = std::min(lowest, candidate.level);
  for (const auto& [level, w] : candidates_)
    if (!above(level, lowest) && wire_[w].waiting > 0 && !above(wire_[w].level(), lowest) &&
        !share_out(w, level))
      return false;
  return true;
}

/// Those that still wait. The bandwidth left for them on a wire only rises as others get their share, so an
/// outdated level at the top of the heap is replaced by the current one.
bool MaxMin::fill_in_order() {
  if (waiting_ == 0) return true;
  collect_candidates();
  for (std::size_t at = candidates_.size(); at-- > 0;) sink(at, candidates_[at]);
  while (waiting_ > 0 && !candidates_.empty()) {
    const auto [level, w] = candidates_.front();
    const WireState& wire = wire_[w];
    if (wire.waiting > 0 && above(wire.level(), level)) {
      sink(0, {wire.level(), w});
      continue;
    }
    if (wire.waiting > 0 && !share_out(w, level)) return false;
    const Candidate last = candidates_.back();
    candidates_.pop_back();
    if (!candidates_.empty()) sink(0, last);
  }
  return true;
}

/// Puts a candidate where its place in the heap is, at `at` or below.
void MaxMin::sink(std::size_t at, Candidate candidate) {
  const std::size_t size = candidates_.size();
  for (std::size_t child; (child = 2 * at + 1) < size; at = child) {
    // Without a branch, because a processor cannot predict which of the two is lower.
    child += candidates_[std::min(child + 1, size - 1)].level < candidates_[child].level;
    if (candidates_[child].level >= candidate.level) break;
    candidates_[at] = candidates_[child];
  }
  candidates_[at] = candidate;
}

void MaxMin::collect_candidates() {
  candidates_.clear();
  for (const std::uint32_t w : open_)
    if (wire_[w].waiting > 0 && can_bind(wire_[w])) candidates_.push_back({wire_[w].level(), w});
}

bool MaxMin::share_out(std::uint32_t w, double level) {
  const std::size_t before = releases_.size();
  for (std::uint32_t c = wire_[w].head; c != none; c = crossing_[c].after) {
    const std::uint32_t flow = crossing_[c].flow;
    if (flow_[flow].waiting)
      give(flow, level, w);
    else if (above(flow_[flow].level, level))
      release(flow);  // not fair: it was left where it was, and is now higher than others on a full wire
  }
  return releases_.size() == before;
}

void MaxMin::give(std::uint32_t f, double level, std::uint32_t binding) {
  FlowState& flow = flow_[f];
  flow.waiting = false;
  --waiting_;
  flow.level = level;
  flow.binding = binding;
  ++wire_[binding].bound;
  for (const int w : routes_.of(f)) {
    WireState& wire = wire_[std::size_t(w)];
    wire.carried += flow.weight * level;
    wire.weight = --wire.waiting > 0 ? wire.weight - flow.weight : 0;  // without what rounding left
  }
}

}  // namespace paradl
