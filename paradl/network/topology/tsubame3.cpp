// The platform of the hierarchical allreduces (CCPE 2021), as in the authors' repository TruongThaoNguyen/
// allreduce_simulate, example/platforms/Tsubame3_64.xml. All its links are shared by both directions.
//
// Their leaf and root switches are links of their own (225 GB/s and 3.6 TB/s, 100 ns), crossed with every
// port and every uplink. They never fill up: what enters a leaf comes through 18 ports of 12.5 GB/s. So only
// their latency is kept, on the port and on the uplink.

#include <fmt/format.h>

#include "paradl/network/topology/graph.hpp"
#include "paradl/network/topology/kinds.hpp"

namespace paradl {

std::unique_ptr<Topology> tsubame3_of_the_authors(int nodes) {
  using namespace literals;
  constexpr int gpus = 4, racked = 9;  // GPUs of a node, nodes of a rack
  const Seconds cable{26e-9}, crossing{100e-9};
  const Link nvlink{Seconds{}, 1.0 / 50.0_GBps}, two_nvlinks{Seconds{}, 1.0 / 100.0_GBps};
  const Link pcie{crossing, 1.0 / 16.0_GBps};
  const Link port{cable + crossing, 1.0 / 12.5_GBps}, uplink{cable + crossing, 1.0 / 225.0_GBps};

  constexpr int uplinks = 2 * racked;  // of a leaf, bundled: their watts are those of the bundle
  constexpr Watts nvlink_watts{19.04, 22.4}, pcie_watts{10.37, 12.2}, port_watts{8.3, 9.5},
      uplink_watts{19.4 / uplinks, 23.5 / uplinks};

  const int hosts = gpus * nodes, racks = (nodes + racked - 1) / racked;
  const int first_leaf = hosts + 2 * nodes, root = first_leaf + 2 * racks;
  std::vector<Graph::Cable> cables;
  for (int node = 0; node < nodes; ++node) {
    for (int a = 0; a < gpus; ++a)
      for (int b = a + 1; b < gpus; ++b)
        cables.push_back({gpus * node + a, gpus * node + b, b - a == 2 ? two_nvlinks : nvlink,
                          b - a == 2 ? 2 : 1, nvlink_watts});
    // GPUs 0 and 1 share a PLX switch, 2 and 3 the other. Each PLX has its port, to another leaf of the rack.
    for (int side = 0; side < 2; ++side) {
      const int plx = hosts + 2 * node + side;
      for (int i = 0; i < 2; ++i) cables.push_back({gpus * node + 2 * side + i, plx, pcie, 1, pcie_watts});
      cables.push_back({plx, first_leaf + 2 * (node / racked) + side, port, 1, port_watts});
    }
  }
  for (int leaf = first_leaf; leaf < root; ++leaf)
    cables.push_back({leaf, root, uplink, uplinks, uplink_watts});

  auto tree = std::make_unique<Graph>(fmt::format("tsubame3-authors:{}", nodes), hosts, root + 1 - hosts,
                                      cables, true);
  std::vector<Place> places;
  const double floor = 1 + hosts / 16.0;
  for (int gpu = 0; gpu < hosts; ++gpu) places.push_back({gpu + gpu / gpus * 0.6, 3 * floor + gpu % 2 * 0.5});
  for (int plx = 0; plx < 2 * nodes; ++plx) places.push_back({2 * plx + 0.5 + plx / 2 * 0.6, 2 * floor});
  for (int leaf = 0; leaf < 2 * racks; ++leaf)
    places.push_back({(leaf + 0.5) * 4.6 * nodes / (2 * racks), floor});
  places.push_back({2.3 * nodes, 0});
  tree->set_node_size(gpus);
  tree->set_places(std::move(places));
  return tree;
}

std::unique_ptr<Topology> make_tsubame3(const TopologyWord& word, const WireSpec&) {
  word.demand({1});
  const int nodes = word.groups[0][0];
  word.limit(6.5 * nodes, 12.5 * nodes);
  return tsubame3_of_the_authors(nodes);
}

}  // namespace paradl
