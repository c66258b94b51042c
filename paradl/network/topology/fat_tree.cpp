// Fat trees of any number of levels, as SimGrid builds and routes them.
//
//   L      levels of switches; hosts are level 0
//   m[l]   children: nodes of level l below each switch of level l + 1
//   w[l]   parents of each node of level l
//   c[l]   parallel cables between a node of level l and each of its parents
//   M[l]   m[0] ... m[l-1]: hosts below one node of level l
//   W[l]   w[0] ... w[l-1]: nodes of level l above the same hosts
//
// A node of level l is low + W[l] * high: `high` counts sets of M[l] hosts, `low` the nodes above one set.

#include <fmt/format.h>

#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

class FatTree : public Topology {
 public:
  FatTree(const TopologyWord& word, const WireSpec& wires, std::vector<int> nodes)
      : Topology(word.text, nodes[0], 0, wires.half_duplex),
        m_(word.groups[1]),
        w_(word.groups[2]),
        c_(word.groups[3]),
        nodes_(std::move(nodes)) {
    for (std::size_t l = 0; l < m_.size(); ++l) {
      M_.push_back(M_.back() * m_[l]);
      W_.push_back(W_.back() * w_[l]);
      first_vertex_.push_back(first_vertex_.back() + nodes_[l]);
      first_wire_.push_back(int(wires_.size()));
      for (int node = 0; node < nodes_[l]; ++node)
        for (int port = 0; port < w_[l] * c_[l]; ++port)
          add_cable(first_vertex_[l] + node, first_vertex_[l + 1] + parent(l, node, port), wires.link);
    }
    vertices_ = first_vertex_.back() + nodes_.back();
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    // Up, until the target is below: D-mod-k, the target alone decides the port.
    std::size_t l = 0;
    int node = from, digits = to;
    for (; node / W_[l] != to / M_[l]; ++l) {
      const int ports = w_[l] * c_[l];
      const int port = digits % ports;
      digits /= w_[l];
      wires.push_back(up_wire(l, node, port));
      node = parent(l, node, port);
    }
    // Down there is one way but for parallel cables. A switch has its first cable to each child, then its
    // second ... SimGrid starts at the cable that the source decides, and goes on counting where it stopped
    // one level above.
    for (int slot = -1; l-- > 0;) {
      const int child = to / M_[l] % m_[l];
      if (slot >= 0) slot += 1 + (child + m_[l] - (slot + 1) % m_[l]) % m_[l];
      if (slot < 0 || slot >= m_[l] * c_[l]) slot = from % c_[l] * m_[l] + child;
      const int port = node / W_[l] % w_[l] + w_[l] * (slot / m_[l]);
      node = node % W_[l] + W_[l] * (to / M_[l]);
      wires.push_back(back(up_wire(l, node, port)));
    }
  }

  std::vector<Place> places() const override {
    std::vector<Place> places;
    for (std::size_t l = 0; l < nodes_.size(); ++l)
      for (int node = 0; node < nodes_[l]; ++node)
        places.push_back(
            {(node + 0.5) * nodes_[0] / nodes_[l], double(nodes_.size() - l) * (1 + nodes_[0] / 12.0)});
    return places;
  }

 private:
  /// The node of level l + 1 that this port leads to.
  int parent(std::size_t l, int node, int port) const {
    return node % W_[l] + W_[l] * (port % w_[l] + w_[l] * (node / W_[l] / m_[l]));
  }
  int up_wire(std::size_t l, int node, int port) const {
    return first_wire_[l] + (node * w_[l] * c_[l] + port) * (half_duplex_ ? 1 : 2);
  }

  std::vector<int> m_, w_, c_, nodes_;
  std::vector<int> M_{1}, W_{1}, first_vertex_{0}, first_wire_;
};

}  // namespace

std::unique_ptr<Topology> make_fat_tree(const TopologyWord& word, const WireSpec& wires) {
  if (word.groups.size() != 4 || word.groups[0].size() != 1) word.demand({1, 1, 1, 1});
  const auto levels = std::size_t(word.groups[0][0]);
  for (std::size_t group = 1; group < 4; ++group)
    if (const std::size_t size = word.groups[group].size(); size != levels)
      word.refuse(fmt::format("says {} level{} but gives {} number{} in part {}", levels,
                              levels == 1 ? "" : "s", size, size == 1 ? "" : "s", group + 1));

  // Nodes of each level: parents multiply them from below, children from above.
  std::vector<int> nodes;
  double vertices = 0, cables = 0;
  for (std::size_t l = 0; l <= levels; ++l) {
    double count = 1;
    for (std::size_t i = 0; i < levels; ++i) count *= i < l ? word.groups[2][i] : word.groups[1][i];
    vertices += count;
    if (l < levels) cables += count * word.groups[2][l] * word.groups[3][l];
    word.limit(vertices, cables);
    nodes.push_back(int(count));
  }
  return std::make_unique<FatTree>(word, wires, std::move(nodes));
}

}  // namespace paradl
