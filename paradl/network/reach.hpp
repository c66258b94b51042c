#pragma once
#include <algorithm>
#include <vector>

#include "paradl/network/topology.hpp"

namespace paradl {

/// The longest latency and the slowest wire of the routes that were added.
class Reach {
 public:
  void add(const Topology& topology, int from, int to) {
    wires_.clear();
    topology.route(from, to, wires_);
    Seconds latency;
    for (const int w : wires_) {
      const Link& wire = topology.wires()[std::size_t(w)].link;
      latency += wire.alpha;
      link_.beta = std::max(link_.beta, wire.beta);
    }
    link_.alpha = std::max(link_.alpha, latency);
  }
  const Link& link() const { return link_; }

 private:
  Link link_;
  std::vector<int> wires_;  // of one route; kept so that the next one needs no allocation
};

}  // namespace paradl
