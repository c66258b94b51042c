#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

class Crossbar : public Topology {
 public:
  Crossbar(const TopologyWord& word, int hosts, const WireSpec& wires)
      : Topology(word.text, hosts, 1, wires.half_duplex) {
    for (int host = 0; host < hosts; ++host) up_.push_back(add_cable(host, hosts, wires.link));
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    wires.push_back(up_[std::size_t(from)]);
    wires.push_back(back(up_[std::size_t(to)]));
  }

  std::vector<Place> places() const override {
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host) places.push_back({double(host), 3});
    places.push_back({(hosts_ - 1) / 2.0, 0});
    return places;
  }

 private:
  std::vector<int> up_;  // of each host
};

}  // namespace

std::unique_ptr<Topology> make_crossbar(const TopologyWord& word, const WireSpec& wires) {
  word.demand({1});
  const int hosts = word.groups[0][0];
  if (hosts < 1) word.refuse("has no hosts");
  word.limit(hosts + 1.0, hosts);
  return std::make_unique<Crossbar>(word, hosts, wires);
}

}  // namespace paradl
