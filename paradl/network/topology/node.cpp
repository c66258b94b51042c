#include "paradl/network/topology/node.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace paradl {
namespace {

/// Vertices: the GPUs, then all of the network outside (its hosts are the ports), then what joins the GPUs of
/// each node. The wires outside keep their numbers.
class Nodes : public Topology {
 public:
  Nodes(std::unique_ptr<Topology> outside, const TopologyWord& word, const NodeSpec& node)
      : Topology(word.text, outside->hosts() / node.ports * node.gpus, 0, outside->half_duplex()),
        outside_(std::move(outside)),
        node_(node) {
    source_ = outside_->source();
    wires_ = outside_->wires();
    for (Wire& wire : wires_) wire.from += hosts_, wire.to += hosts_;
    vertices_ = hosts_ + outside_->vertices();
    to_port_.resize(std::size_t(hosts_));
    to_hub_.assign(std::size_t(hosts_), -1);
    for (int first = 0; first < hosts_; first += node_.gpus) join(first);
  }

  void route(int from, int to, std::vector<int>& wires) const override { route(from, to, Bytes{}, wires); }

  void route(int from, int to, Bytes size, std::vector<int>& wires) const override {
    if (from == to) return;
    if (from / node_.gpus == to / node_.gpus) return route_inside(from, to, wires);
    append_up(to_port_[std::size_t(from)], wires);
    // GPUs of two nodes never share a port, so that there is a route.
    outside_->route(port(from), port(to), size, wires);
    append_down(to_port_[std::size_t(to)], wires);
  }

  int node_size() const override { return node_.gpus; }
  std::size_t wires_outside() const override { return outside_->wires().size(); }

  std::vector<Place> places() const override {
    std::vector<Place> outer = outside_->places(), places(std::size_t(hosts_), Place{});
    const double spread = node_.gpus * 0.8 / node_.ports + 0.8;
    constexpr double depth = 3.2;  // a node hangs below its ports, and above those of the next row
    for (Place& place : outer) place.x *= spread, place.y *= std::max(spread, depth);
    places.insert(places.end(), outer.begin(), outer.end());
    places.resize(std::size_t(vertices_));
    for (int first = 0; first < hosts_; first += node_.gpus) {
      const Place left = outer[std::size_t(port(first))],
                  right = outer[std::size_t(port(first + node_.gpus - 1))];
      const Place middle{(left.x + right.x) / 2, (left.y + right.y) / 2};
      for (int i = 0; i < node_.gpus; ++i) {
        // A mesh is drawn in two rows, so that its cables can be distinguished.
        const double row = node_.kind == NodeKind::nvlink ? i % 2 * 0.6 : 0.6;
        places[std::size_t(first + i)] = {middle.x + (i - (node_.gpus - 1) / 2.0) * 0.8,
                                          middle.y + 1.6 + row};
      }
      if (node_.kind == NodeKind::nvlink) continue;
      const int group = node_.kind == NodeKind::pcie ? 2 : node_.gpus;
      for (int i = 0; i < node_.gpus; i += group) {
        const int last = std::min(i + group, node_.gpus) - 1;
        const double x = middle.x + ((i + last) / 2.0 - (node_.gpus - 1) / 2.0) * 0.8;
        places[std::size_t(wires_[std::size_t(to_hub_[std::size_t(first + i)])].to)] = {x, middle.y + 1.2};
      }
      if (node_.kind == NodeKind::pcie)
        places[std::size_t(bridge_[std::size_t(first / node_.gpus)])] = {middle.x, middle.y + 0.6};
    }
    return places;
  }

 private:
  /// The route from a GPU to its port: one wire, or two over a PCIe switch, or three over the host bridge.
  using Way = std::vector<int>;

  int port(int gpu) const {
    const auto within = std::int64_t(gpu % node_.gpus);
    return gpu / node_.gpus * node_.ports + int(within * node_.ports / node_.gpus);
  }

  void join(int first) {
    const int end = first + node_.gpus;
    if (node_.kind == NodeKind::pcie) return join_by_pcie(first, end);
    for (int gpu = first; gpu < end; ++gpu)
      to_port_[std::size_t(gpu)] = {add_cable(gpu, hosts_ + port(gpu), node_.link)};
    if (node_.kind == NodeKind::nvswitch) {
      const int hub = vertices_++;
      for (int gpu = first; gpu < end; ++gpu) to_hub_[std::size_t(gpu)] = add_cable(gpu, hub, node_.link);
    } else {
      mesh_.push_back(int(wires_.size()));
      for (int a = first; a < end; ++a)
        for (int b = a + 1; b < end; ++b) add_cable(a, b, node_.link);
    }
  }

  void join_by_pcie(int first, int end) {
    const int bridge = vertices_++;
    bridge_.push_back(bridge);
    int up = -1, port_wire = -1;
    for (int gpu = first; gpu < end; ++gpu) {
      if ((gpu - first) % 2 == 0) up = add_cable(vertices_++, bridge, node_.link);
      const int plx = wires_[std::size_t(up)].from;
      to_hub_[std::size_t(gpu)] = add_cable(gpu, plx, node_.link);
      up_.push_back(up);
      // A port that only one PCIe switch uses hangs on it, others on the bridge.
      const bool shared = users_of_port_lie_apart(gpu, first, end);
      if (gpu == first || port(gpu) != port(gpu - 1))
        port_wire = add_cable(shared ? bridge : plx, hosts_ + port(gpu), node_.link);
      Way& way = to_port_[std::size_t(gpu)];
      way = {to_hub_[std::size_t(gpu)]};
      if (shared) way.push_back(up);
      way.push_back(port_wire);
    }
  }

  bool users_of_port_lie_apart(int gpu, int first, int end) const {
    int low = gpu, high = gpu;
    while (low > first && port(low - 1) == port(gpu)) --low;
    while (high + 1 < end && port(high + 1) == port(gpu)) ++high;
    return (low - first) / 2 != (high - first) / 2;
  }

  void route_inside(int from, int to, std::vector<int>& wires) const {
    if (node_.kind == NodeKind::nvlink) {
      const int a = std::min(from, to) % node_.gpus, b = std::max(from, to) % node_.gpus;
      const int pair = a * (2 * node_.gpus - a - 1) / 2 + b - a - 1;
      const int wire = mesh_[std::size_t(from / node_.gpus)] + pair * (half_duplex_ ? 1 : 2);
      return wires.push_back(from < to ? wire : back(wire));
    }
    wires.push_back(to_hub_[std::size_t(from)]);
    if (node_.kind == NodeKind::pcie && up_[std::size_t(from)] != up_[std::size_t(to)]) {
      wires.push_back(up_[std::size_t(from)]);
      wires.push_back(back(up_[std::size_t(to)]));
    }
    wires.push_back(back(to_hub_[std::size_t(to)]));
  }

  void append_up(const Way& way, std::vector<int>& wires) const {
    wires.insert(wires.end(), way.begin(), way.end());
  }
  void append_down(const Way& way, std::vector<int>& wires) const {
    for (auto wire = way.rbegin(); wire != way.rend(); ++wire) wires.push_back(back(*wire));
  }

  std::unique_ptr<Topology> outside_;
  NodeSpec node_;
  std::vector<Way> to_port_;  // of each GPU
  std::vector<int> to_hub_;   // of each GPU: the wire to its NVSwitch or PCIe switch
  std::vector<int> up_;       // of each GPU: the wire from its PCIe switch to the bridge
  std::vector<int> mesh_;     // of each node: its first NVLink
  std::vector<int> bridge_;   // of each node
};

}  // namespace

std::optional<NodeKind> node_kind(std::string_view name) {
  if (name == "nvlink") return NodeKind::nvlink;
  if (name == "nvswitch") return NodeKind::nvswitch;
  if (name == "pcie") return NodeKind::pcie;
  return {};
}

std::unique_ptr<Topology> put_nodes(std::unique_ptr<Topology> outside, const TopologyWord& word,
                                    const NodeSpec& node) {
  if (outside->hosts() % node.ports != 0)
    word.refuse(fmt::format("cannot share {} hosts among nodes of {} ports", outside->hosts(), node.ports));
  const double nodes = double(outside->hosts()) / node.ports, gpus = node.gpus;
  const double inside = node.kind == NodeKind::nvlink ? gpus * (gpus + 1) / 2 : 2.5 * gpus;
  word.limit(outside->vertices() + nodes * (1.5 * gpus + 2),
             double(outside->wires().size()) / 2 + nodes * inside);
  return std::make_unique<Nodes>(std::move(outside), word, node);
}

}  // namespace paradl
