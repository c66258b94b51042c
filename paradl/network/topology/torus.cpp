#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

/// Hosts at the crossings of a grid, the first dimension counting fastest. Routes go dimension by dimension.
class Grid : public Topology {
 public:
  Grid(const TopologyWord& word, const WireSpec& wires, int hosts, bool wraps)
      : Topology(word.text, hosts, 0, wires.half_duplex), sizes_(word.groups[0]), wraps_(wraps) {
    int stride = 1;
    for (const int size : sizes_) {
      std::vector<int>& forward = forward_.emplace_back(hosts, -1);
      // Between two hosts there is one cable, not a second one around.
      for (int host = 0; host < hosts; ++host)
        if (const int at = host / stride % size; at + 1 < size || (wraps && size > 2))
          forward[std::size_t(host)] = add_cable(host, host + step(at, size) * stride, wires.link);
      stride *= size;
    }
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    int here = from, stride = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const int size = sizes_[d], target = to / stride % size;
      const bool up = goes_up(from / stride % size, target, size);
      for (int at = here / stride % size; at != target; at = here / stride % size) {
        if (up) {
          wires.push_back(forward_[d][std::size_t(here)]);
          here += step(at, size) * stride;
        } else {
          here -= step((at + size - 1) % size, size) * stride;
          wires.push_back(back(forward_[d][std::size_t(here)]));
        }
      }
      stride *= size;
    }
  }

  std::vector<Place> places() const override {
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host) {
      // Odd dimensions go right and even ones down, each over the whole of those before it.
      Place place;
      double across = 1, along = 1;
      int rest = host;
      for (std::size_t d = 0; d < sizes_.size(); ++d) {
        double& distance = d % 2 == 0 ? across : along;
        (d % 2 == 0 ? place.x : place.y) += rest % sizes_[d] * distance;
        distance *= sizes_[d] + 0.6;
        rest /= sizes_[d];
      }
      places.push_back(place);
    }
    return places;
  }

 private:
  static int step(int at, int size) { return at + 1 == size ? 1 - size : 1; }

  bool goes_up(int at, int target, int size) const {
    if (!wraps_) return target > at;
    const int ahead = (target - at + size) % size;
    // Halfway around, both directions are equally long. SimGrid then goes up, except from the middle to 0.
    return 2 * ahead < size || (2 * ahead == size && target != 0);
  }

  std::vector<int> sizes_;
  bool wraps_;
  std::vector<std::vector<int>>
      forward_;  // by dimension and host: the wire to the next one; -1: there is none
};

std::unique_ptr<Topology> make_grid(const TopologyWord& word, const WireSpec& wires, bool wraps) {
  if (word.groups.size() != 1) word.demand({2});
  double hosts = 1;
  for (const int size : word.groups[0]) {
    hosts *= size;
    word.limit(hosts, hosts * double(word.groups[0].size()));
  }
  return std::make_unique<Grid>(word, wires, int(hosts), wraps);
}

}  // namespace

std::unique_ptr<Topology> make_torus(const TopologyWord& word, const WireSpec& wires) {
  return make_grid(word, wires, true);
}

std::unique_ptr<Topology> make_mesh(const TopologyWord& word, const WireSpec& wires) {
  return make_grid(word, wires, false);
}

}  // namespace paradl
