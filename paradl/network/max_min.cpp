#include "paradl/network/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paradl {
namespace {

/// A flow that waits for less than this weighs no more: weights stay finite where a latency is given as zero.
constexpr double least_latency = 1e-9;  // s
constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr bool above(double level, double other) { return level > other * (1 + 1e-12); }  // not by rounding

}  // namespace

MaxMin::MaxMin(const Topology& topology, const Routes& routes)
    : routes_(routes),
      wire_(topology.wires().size()),
      crossing_(routes.wires.size()),
      weight_(routes.route.size()),
      level_(routes.route.size()),
      binding_(routes.route.size(), none),
      released_(routes.route.size()),
      waiting_(routes.route.size()) {
  for (std::size_t w = 0; w < wire_.size(); ++w) {
    wire_[w].bandwidth = 1 / topology.wires()[w].link.beta.base();
    fastest_ = std::max(fastest_, wire_[w].bandwidth);
  }
  for (std::size_t f = 0; f < weight_.size(); ++f)
    weight_[f] = 1 / std::max(routes.route[f].latency, least_latency);
}

// Steps that are twins share their crossings. No harm is done: the flows of a pair of twins have the same
// ranks, and a rank is in one step at a time.
void MaxMin::enter(std::uint32_t flow) {
  const Route& route = routes_.route[flow];
  for (std::uint32_t c = route.first; c < route.first + route.count; ++c) {
    const auto w = std::uint32_t(routes_.wires[c]);
    WireState& wire = wire_[w];
    crossing_[c] = {.flow = flow, .before = none, .after = wire.head};
    if (wire.head != none) crossing_[wire.head].before = c;
    wire.head = c;
    ++wire.flows;
    touch(w);
  }
  level_[flow] = infinite;  // it would take all it can get
  binding_[flow] = none;
}

void MaxMin::leave(std::uint32_t flow) {
  const Route& route = routes_.route[flow];
  for (std::uint32_t c = route.first; c < route.first + route.count; ++c) {
    const auto w = std::uint32_t(routes_.wires[c]);
    const Crossing& gone = crossing_[c];
    (gone.before != none ? crossing_[gone.before].after : wire_[w].head) = gone.after;
    if (gone.after != none) crossing_[gone.after].before = gone.before;
    --wire_[w].flows;
    touch(w);
  }
}

void MaxMin::touch(std::uint32_t wire) {
  if (wire_[wire].touched) return;
  wire_[wire].touched = true;
  touched_.push_back(wire);
}

std::span<const std::uint32_t> MaxMin::settle() {
  for (const std::uint32_t w : touched_) {
    wire_[w].touched = false;
    open(w);
    release_higher(w);
  }
  touched_.clear();
  do {
    release_bound();
  } while (!fill());

  changed_.clear();
  for (const auto& [flow, before] : releases_) {
    released_[flow] = 0;
    if (above(level_[flow], before) || above(before, level_[flow])) changed_.push_back(flow);
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

/// A flow whose level no longer stands: all its wires may get more or less to carry.
void MaxMin::release(std::uint32_t flow) {
  if (released_[flow]) return;
  released_[flow] = 1;
  releases_.push_back({flow, level_[flow]});
  for (const int w : routes_.of(flow))
    if (can_bind(wire_[std::size_t(w)])) open(std::uint32_t(w));
}

/// Flows that will have to give way on a wire, as far as can be told beforehand. Too few or too many of them
/// cost time, but do no harm.
void MaxMin::release_higher(std::uint32_t wire) {
  const double level = full_level(wire);
  for (std::uint32_t c = wire_[wire].head; c != none; c = crossing_[c].after)
    if (level_[crossing_[c].flow] > level) release(crossing_[c].flow);
}

/// The level at which a wire is full if those below it stay where they are.
double MaxMin::full_level(std::uint32_t wire) const {
  for (double level = 0;;) {
    double left = wire_[wire].bandwidth, weight = 0;
    for (std::uint32_t c = wire_[wire].head; c != none; c = crossing_[c].after) {
      const std::uint32_t flow = crossing_[c].flow;
      if (level_[flow] < level)
        left -= weight_[flow] * level_[flow];
      else
        weight += weight_[flow];
    }
    if (weight == 0) return infinite;
    const double next = left / weight;
    if (!above(next, level)) return level;
    level = next;
  }
}

/// The flows that are bound by an open wire, and by the wires that open with them.
void MaxMin::release_bound() {
  for (; spread_ < open_.size(); ++spread_)
    for (std::uint32_t c = wire_[open_[spread_]].head; c != none; c = crossing_[c].after)
      if (binding_[crossing_[c].flow] == open_[spread_]) release(crossing_[c].flow);
}

/// Progressive filling: the wire that is full at the lowest level binds all who wait for it; what they then
/// send is taken from their other wires. By that a wire's level only rises, so an old one that is found at
/// the top of the heap is replaced by the present one. False if a flow had to be released: it is in the way.
bool MaxMin::fill() {
  const auto later = [](const Candidate& a, const Candidate& b) { return a.level > b.level; };
  for (const Release& r : releases_) waiting_[r.flow] = 1;
  collect_candidates();
  std::make_heap(candidates_.begin(), candidates_.end(), later);
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    auto& [level, w] = candidates_.back();
    const WireState& wire = wire_[w];
    const double present = wire.left / wire.weight;
    if (wire.waiting > 0 && above(present, level)) {
      level = present;
      std::push_heap(candidates_.begin(), candidates_.end(), later);
      continue;
    }
    if (wire.waiting > 0 && !share_out(w, level)) return false;
    candidates_.pop_back();
  }
  for (const Release& r : releases_)  // who still waits shares its wires with nobody
    if (waiting_[r.flow])
      give(r.flow, 1 / (routes_.route[r.flow].beta * weight_[r.flow]), std::uint32_t(routes_.of(r.flow)[0]));
  return true;
}

void MaxMin::collect_candidates() {
  candidates_.clear();
  for (const std::uint32_t w : open_) {
    WireState& wire = wire_[w];
    wire.left = wire.bandwidth;
    wire.weight = 0;
    wire.waiting = 0;
    if (!can_bind(wire)) continue;
    for (std::uint32_t c = wire.head; c != none; c = crossing_[c].after) {
      const std::uint32_t flow = crossing_[c].flow;
      if (waiting_[flow]) {
        wire.weight += weight_[flow];
        ++wire.waiting;
      } else {
        wire.left -= weight_[flow] * level_[flow];
      }
    }
    if (wire.waiting > 0) candidates_.push_back({wire.left / wire.weight, w});
  }
}

bool MaxMin::share_out(std::uint32_t w, double level) {
  const std::size_t before = releases_.size();
  for (std::uint32_t c = wire_[w].head; c != none; c = crossing_[c].after) {
    const std::uint32_t flow = crossing_[c].flow;
    if (waiting_[flow])
      give(flow, level, w);
    else if (above(level_[flow], level))
      release(flow);  // not fair: it was left where it was, and is now higher than others on a full wire
  }
  return releases_.size() == before;
}

void MaxMin::give(std::uint32_t flow, double level, std::uint32_t wire) {
  waiting_[flow] = 0;
  level_[flow] = level;
  binding_[flow] = wire;
  for (const int w : routes_.of(flow)) {
    wire_[std::size_t(w)].left -= weight_[flow] * level;
    wire_[std::size_t(w)].weight -= weight_[flow];
    --wire_[std::size_t(w)].waiting;
  }
}

}  // namespace paradl
