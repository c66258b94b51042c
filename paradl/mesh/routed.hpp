#pragma once
#include <vector>

#include "paradl/mesh/mesh.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// The members of a group along `set` in their order, innermost axis first: how far each is from the first.
std::vector<int> member_offsets(const Mesh& mesh, AxisSet set);

// group_path() and neighbour_path() count the flows that share a port, which is all there is to know of a
// tree of levels. On another topology the way of each flow decides: these take a path, send the flows of all
// groups at once and put what the routes give in place of what was counted.

/// The rings between nodes of all groups along `set`; `first` is the hop that the topology stands for (1
/// where nodes are inside it, 0 where its hosts are GPUs).
Path route_groups(Path path, const Mesh& mesh, AxisSet set, const Topology& topology, int first = 1);
/// Every PE to its next neighbour along an axis, or along one extent of its cut.
Path route_neighbours(Path path, const Mesh& mesh, int axis, int dim, const Topology& topology,
                      int first = 1);

}  // namespace paradl
