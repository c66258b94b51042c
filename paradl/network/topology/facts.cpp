// What can be counted on a topology's cables, whatever its routes. The bisection is the least cut between the
// first and the last half of the hosts, found as the largest flow between them (Dinic); for a torus or a fat
// tree with consecutive hosts that is the bisection of the textbooks. It is counted twice, each cable as one
// and each cable as its bandwidth: where bandwidths differ, these may be two different cuts.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {
namespace {

/// What a wire counts in a cut.
double cables_of(const Wire& wire) { return wire.cables; }
/// In whole bytes a second, so that sums and differences are exact.
double bandwidth_of(const Wire& wire) { return std::round((1.0 / wire.link.beta).base()); }

/// Cables as edges in both directions: edge e and its twin e ^ 1.
class Cables {
 public:
  Cables(const Topology& topology, double (*room)(const Wire&))
      : first_(std::size_t(topology.vertices()) + 2, -1) {
    const auto& wires = topology.wires();
    for (std::size_t w = 0; w < wires.size(); w += topology.half_duplex() ? 1 : 2)
      add(wires[w].from, wires[w].to, room(wires[w]), room(wires[w]));
  }

  void add(int a, int b, double forth, double back) {
    for (const auto& [from, to, room] : {Edge{a, b, forth}, Edge{b, a, back}}) {
      next_.push_back(std::exchange(first_[std::size_t(from)], int(ends_.size())));
      ends_.push_back({from, to, room});
    }
  }

  /// Edges to each vertex from `start` over edges with room; -1 if it cannot be reached.
  const std::vector<int>& distances(int start) {
    distance_.assign(first_.size(), -1);
    distance_[std::size_t(start)] = 0;
    queue_ = {start};
    for (std::size_t head = 0; head < queue_.size(); ++head)
      for (int e = first_[std::size_t(queue_[head])]; e >= 0; e = next_[std::size_t(e)])
        if (const Edge& edge = ends_[std::size_t(e)]; edge.room > 0 && distance_[std::size_t(edge.to)] < 0) {
          distance_[std::size_t(edge.to)] = distance_[std::size_t(edge.from)] + 1;
          queue_.push_back(edge.to);
        }
    return distance_;
  }

  double largest_flow(int source, int target) {
    double flow = 0;
    while (distances(source)[std::size_t(target)] >= 0) {
      at_ = first_;
      while (const double more = push(source, target)) flow += more;
    }
    return flow;
  }

 private:
  struct Edge {
    int from, to;
    double room;
  };

  /// One more path from source to target on which every edge leads further away; its capacity, or 0.
  double push(int source, int target) {
    std::vector<int> way;
    int here = source;
    while (here != target) {
      int& e = at_[std::size_t(here)];
      while (e >= 0 && !leads_on(ends_[std::size_t(e)])) e = next_[std::size_t(e)];
      if (e >= 0) {
        way.push_back(e);
        here = ends_[std::size_t(e)].to;
      } else {
        if (way.empty()) return 0;
        here = ends_[std::size_t(way.back())].from;
        at_[std::size_t(here)] = next_[std::size_t(way.back())];
        way.pop_back();
      }
    }
    double room = std::numeric_limits<double>::infinity();
    for (const int e : way) room = std::min(room, ends_[std::size_t(e)].room);
    for (const int e : way) ends_[std::size_t(e)].room -= room, ends_[std::size_t(e ^ 1)].room += room;
    return room;
  }
  bool leads_on(const Edge& edge) const {
    return edge.room > 0 && distance_[std::size_t(edge.to)] == distance_[std::size_t(edge.from)] + 1;
  }

  std::vector<int> first_, next_, at_, distance_, queue_;
  std::vector<Edge> ends_;
};

int cable_count(const Topology& topology) {
  int wires = 0;
  for (const Wire& wire : topology.wires()) wires += wire.cables;
  return topology.half_duplex() ? wires : wires / 2;
}

/// The least cut between the first and the last half of the hosts.
double least_cut(const Topology& topology, double (*room)(const Wire&)) {
  Cables cables(topology, room);
  const int source = topology.vertices(), target = source + 1;
  constexpr double plenty = std::numeric_limits<double>::max();
  for (int i = 0; i < topology.hosts() / 2; ++i) {
    cables.add(source, i, plenty, 0);
    cables.add(topology.hosts() - 1 - i, target, plenty, 0);
  }
  return cables.largest_flow(source, target);
}

}  // namespace

TopologyFacts facts_of(const Topology& topology) {
  TopologyFacts facts{.hosts = topology.hosts(),
                      .switches = topology.switches(),
                      .cables = cable_count(topology),
                      .diameter = {},
                      .bisection = {},
                      .bisection_bandwidth = {}};
  Cables cables(topology, cables_of);
  const std::vector<int>& reached = cables.distances(0);
  for (int v = 0; v < topology.vertices(); ++v)
    if (reached[std::size_t(v)] < 0)
      throw UsageError(fmt::format("topology `{}` is not connected: no route from host 0 to {} {}",
                                   topology.text(), v < topology.hosts() ? "host" : "switch", v),
                       "add the cables that are missing");

  // About a second each.
  constexpr double patience = 2e8;
  const auto size = double(topology.wires().size());
  if (size * topology.hosts() <= patience) {
    int longest = 0;
    for (int host = 0; host < topology.hosts(); ++host) {
      const std::vector<int>& distance = cables.distances(host);
      longest = std::max(longest, *std::max_element(distance.begin(), distance.begin() + topology.hosts()));
    }
    facts.diameter = longest;
  }
  if (size <= 2e5) {
    facts.bisection = int(least_cut(topology, cables_of));
    facts.bisection_bandwidth = Bandwidth{least_cut(topology, bandwidth_of)};
  }
  return facts;
}

}  // namespace paradl
