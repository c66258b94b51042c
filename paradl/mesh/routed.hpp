#pragma once
#include <vector>

#include "paradl/mesh/mesh.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// The members of a group along `set`, innermost axis first: the distance of each from the first, in GPUs.
std::vector<int> member_offsets(const Mesh& mesh, AxisSet set);

// group_path() and neighbour_path() count the flows that share a port, which is enough for a tree of levels.
// On another topology contention depends on the route of each flow. These functions send the flows of all
// groups at once, and replace the counts of a path by the contention on the routes.

/// The rings between nodes of all groups along `set`. `first` is the first hop that the topology describes: 0
/// if GPUs are its hosts, 1 if nodes are.
Path route_groups(Path path, const Mesh& mesh, AxisSet set, const Topology& topology, int first = 1);
/// Every GPU sends to its next neighbour along an axis, or along one extent that the axis cuts.
Path route_neighbours(Path path, const Mesh& mesh, int axis, int dim, const Topology& topology,
                      int first = 1);

}  // namespace paradl
