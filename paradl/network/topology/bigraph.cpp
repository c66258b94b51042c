#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

/// Switches in two halves, each linked to all of the other half, and hosts on all of them (EFLOPS, HPCA
/// 2020).
class BiGraph : public Topology {
 public:
  BiGraph(const TopologyWord& word, const WireSpec& wires, int hosts_each, int switches)
      : Topology(word.text, hosts_each * switches, switches, wires.half_duplex),
        hosts_each_(hosts_each),
        half_(switches / 2) {
    for (int host = 0; host < hosts_; ++host)
      host_.push_back(add_cable(host, hosts_ + host / hosts_each, wires.link));
    for (int left = 0; left < half_; ++left)
      for (int right = half_; right < switches; ++right)
        across_.push_back(add_cable(hosts_ + left, hosts_ + right, wires.link));
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    const int source = from / hosts_each_, target = to / hosts_each_;
    wires.push_back(host_[std::size_t(from)]);
    if (left(source) != left(target)) {
      wires.push_back(across(source, target));
    } else if (source != target) {
      // Within a half the route leads over the other half: the target chooses, as on a fat tree.
      const int over = left(source) ? half_ + to % (switches() - half_) : to % half_;
      wires.push_back(across(source, over));
      wires.push_back(across(over, target));
    }
    wires.push_back(back(host_[std::size_t(to)]));
  }

  std::vector<Place> places() const override {
    const double pitch = std::max(1.5, hosts_each_ * 0.7 + 0.5);
    const double height = 2 + half_ * pitch / 4;
    const auto place = [&](int s) { return Place{(left(s) ? s : s - half_) * pitch, left(s) ? 0 : height}; };
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host) {
      const Place own = place(host / hosts_each_);
      const double beside = (host % hosts_each_ - (hosts_each_ - 1) / 2.0) * 0.7;
      places.push_back({own.x + beside, own.y + (left(host / hosts_each_) ? -1.2 : 1.2)});
    }
    for (int s = 0; s < switches(); ++s) places.push_back(place(s));
    return places;
  }

 private:
  bool left(int s) const { return s < half_; }
  int across(int s, int t) const {
    const int a = left(s) ? s : t, b = left(s) ? t : s;
    const int wire = across_[std::size_t(a * (switches() - half_) + b - half_)];
    return left(s) ? wire : back(wire);
  }

  int hosts_each_, half_;
  std::vector<int> host_, across_;
};

}  // namespace

std::unique_ptr<Topology> make_bigraph(const TopologyWord& word, const WireSpec& wires) {
  word.demand({2});
  const double hosts = word.groups[0][0], switches = word.groups[0][1];
  if (switches < 2) word.refuse("needs 2 switches or more");
  word.limit(switches * (hosts + 1), switches * hosts + switches * switches / 4);
  return std::make_unique<BiGraph>(word, wires, int(hosts), int(switches));
}

}  // namespace paradl
