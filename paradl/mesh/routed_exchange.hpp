#pragma once
#include <optional>

#include "paradl/mesh/mesh.hpp"
#include "paradl/network/algorithm.hpp"

namespace paradl {

/// The schedule of one group, executed by all groups along `set` at the same time. Ranks become GPUs.
Schedule in_all_groups(const Schedule& one, const Mesh& mesh, AxisSet set);

/// The cost of an algorithm for every group along a set of axes, if all of them use it at once.
struct RoutedExchange {
  Curve time;  // of the bytes of one group's buffer

  // The step with the most contention:
  double phi = 1;
  int wire = -1;      // its busiest wire; -1: nothing was sent
  int step = 0;       // its number from 1, repetitions counted; 0: a pipeline, whose steps depend on segments
  int steps = 0;      // number of all steps
  bool alike = true;  // phi is the same in all steps
};

/// Builds the flows of all groups, routes them (GPU r is host r), and adds up the load of the busiest wire
/// step by step. Nothing if there are too many messages to route, or if no schedule gives the algorithm's
/// times.
std::optional<RoutedExchange> route_exchange(const Algorithm& algorithm, const Job& job, const Mesh& mesh,
                                             AxisSet set, const Topology& topology);

}  // namespace paradl
