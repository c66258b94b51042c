#pragma once
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "paradl/network/timing.hpp"

namespace paradl::test {

/// 1 us and 1 GB/s a wire: a kilobyte takes a microsecond, so that sums can be done by hand.
inline WireSpec plain_wires() { return {.link = {Seconds{1e-6}, SecondsPerByte{1e-9}}}; }

inline std::unique_ptr<Topology> network_of(const std::string& word, int hosts = 0,
                                            const WireSpec& wires = plain_wires()) {
  return read_topology(word, wires, hosts);
}

/// Hosts with any wires between them; routes are given.
class Drawn : public Topology {
 public:
  explicit Drawn(int hosts) : Topology("drawn", hosts, 0, false) {}
  int wire(double latency_us, double bandwidth_GBps) {
    wires_.push_back({.link = {Seconds{latency_us * 1e-6}, SecondsPerByte{1e-9 / bandwidth_GBps}}});
    return int(wires_.size()) - 1;
  }
  void way(int from, int to, std::vector<int> wires) { ways_[{from, to}] = std::move(wires); }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    const std::vector<int>& way = ways_.at({from, to});
    wires.insert(wires.end(), way.begin(), way.end());
  }

 private:
  std::map<std::pair<int, int>, std::vector<int>> ways_;
};

/// A message of some kilobytes.
inline Flow message(int source, int target, double kB) {
  return {.source = source, .target = target, .bytes = Bytes{kB * 1e3}};
}

struct Messages {
  std::vector<Flow> flows;
  int repeat = 1;
};
inline Schedule schedule_of(int ranks, const std::vector<Messages>& steps) {
  Schedule out;
  out.ranks = ranks;
  for (const Messages& step : steps) {
    out.begin(step.repeat);
    for (const Flow& flow : step.flows) out.add(flow);
  }
  return out;
}

inline double microseconds(const Timing& timing) { return timing.time.base() * 1e6; }

/// Steps of random messages. In regular steps all ranks send the same size over the same distance.
inline Schedule random_schedule(std::mt19937& random, int ranks) {
  const auto below = [&random](int n) { return int(random() % unsigned(n)); };
  Schedule out;
  out.ranks = ranks;
  for (int steps = 1 + below(5); steps > 0; --steps) {
    out.begin(below(3) == 0 ? 1 + below(40) : 1);
    const double kB = 1 + below(50);
    const int distance = 1 + below(ranks - 1);
    switch (below(3)) {
      case 0:
        for (int r = 0; r < ranks; ++r) out.add(message(r, (r + distance) % ranks, kB));
        break;
      case 1:
        for (int r = 0; r < ranks; ++r)
          if ((r ^ distance) < ranks) out.add(message(r, r ^ distance, kB));
        break;
      default:
        for (int flows = 1 + below(2 * ranks); flows > 0; --flows)
          out.add(message(below(ranks), below(ranks), below(30)));
    }
  }
  return out;
}

}  // namespace paradl::test
