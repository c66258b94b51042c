#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// Times closer than this are one instant: far below any latency, far above rounding.
inline constexpr double instant = 1e-12;  // s; of times above a second, the fraction
inline bool together(double a, double b) {
  const double size = a > b ? a : b;
  return (a > b ? a - b : b - a) <= instant * (size > 1 ? size : 1);
}

/// The route of one flow.
struct Route {
  std::uint32_t first = 0, count = 0;  // its wires in Routes::wires
  double latency = 0;                  // s, of all wires together
  double beta = 0;                     // s/B of the slowest wire
};

/// The routes of all flows of a schedule. Steps that send the same between the same ranks are routed once.
struct Routes {
  Routes() = default;
  Routes(const Schedule& schedule, const Topology& topology, std::span<const int> seats);

  std::vector<int> wires;         // of all routes, one after the other
  std::vector<Route> route;       // of each flow
  std::vector<std::size_t> twin;  // of each step: the first one that sends the same; itself if there is none

  std::span<const int> of(std::size_t flow) const {
    return {wires.data() + route[flow].first, route[flow].count};
  }
};

}  // namespace paradl
