#pragma once
#include <optional>

#include "paradl/mesh/mesh.hpp"
#include "paradl/network/algorithm.hpp"

namespace paradl {

/// The schedule of one group, carried out by all groups along `set` at the same time. Ranks become GPUs.
Schedule in_all_groups(const Schedule& one, const Mesh& mesh, AxisSet set);

/// What an algorithm costs every group along a set of axes, when all of them use it at once.
struct RoutedExchange {
  Curve time;  // of the bytes of one group's buffer

  // Of the step in which flows are most in each other's way:
  double phi = 1;
  int wire = -1;      // that binds; -1: nothing was sent
  int step = 0;       // from 1, repetitions counted; 0: a pipeline, which has as many as it has segments
  int steps = 0;      // of how many
  bool alike = true;  // phi is the same in all of them
};

/// Builds the flows of all groups, routes them, GPU r on host r, and adds up the load of the busiest wire
/// step by step. Nothing if there are too many messages to follow, or if no schedule tells the algorithm's
/// times.
std::optional<RoutedExchange> route_exchange(const Algorithm& algorithm, const Job& job, const Mesh& mesh,
                                             AxisSet set, const Topology& topology);

}  // namespace paradl
