// Distributed loop networks: switches on a ring, each linked to those 1, 2, 4 ... S/2 away in both
// directions. `dln:q,p` has S = 2^q switches of 2^p hosts; `dln2d:x,y,z` has 2^x by 2^y switches of 2^z
// hosts, each row and each column a loop. After the logical topology of Shifted Halving-Doubling (CCGrid
// 2021), reconstructed.

#include <bit>
#include <cmath>
#include <numbers>

#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

class LoopNetwork : public Topology {
 public:
  LoopNetwork(const TopologyWord& word, const WireSpec& wires, int columns, int rows, int hosts_each)
      : Topology(word.text, columns * rows * hosts_each, columns * rows, wires.half_duplex),
        sizes_{columns, rows},
        hosts_each_(hosts_each) {
    for (int host = 0; host < hosts_; ++host)
      host_.push_back(add_cable(host, hosts_ + host / hosts_each, wires.link));
    for (int d = 0; d < 2; ++d)
      for (int length = 1; length < sizes_[d]; length *= 2) {
        std::vector<int>& chord = chord_[d].emplace_back(switches(), -1);
        for (int s = 0; s < switches(); ++s)
          // The longest chord is the same from both ends.
          if (2 * length < sizes_[d] || at(d, s) < length)
            chord[std::size_t(s)] = add_cable(hosts_ + s, hosts_ + moved(d, s, length), wires.link);
      }
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    wires.push_back(host_[std::size_t(from)]);
    int here = from / hosts_each_;
    for (int d = 0; d < 2; ++d) {
      int distance = at(d, to / hosts_each_) - at(d, here);
      if (2 * distance > sizes_[d]) distance -= sizes_[d];
      if (2 * distance <= -sizes_[d]) distance += sizes_[d];
      // Greedy: the chord nearest to the distance that is left, the shorter one of two as near.
      while (distance != 0) {
        const auto left = unsigned(std::abs(distance));
        const unsigned below = std::bit_floor(left);
        const auto length = int(left - below > 2 * below - left ? 2 * below : below);
        const int hop = distance > 0 ? length : -length;
        wires.push_back(hop_wire(d, here, hop));
        here = moved(d, here, hop);
        distance -= hop;
      }
    }
    wires.push_back(back(host_[std::size_t(to)]));
  }

  std::vector<Place> places() const override { return sizes_[1] == 1 ? around() : in_rows(); }

 private:
  int at(int d, int s) const { return d == 0 ? s % sizes_[0] : s / sizes_[0]; }
  int moved(int d, int s, int by) const {
    const int place = (at(d, s) + by + sizes_[d]) % sizes_[d];
    return s + (place - at(d, s)) * (d == 0 ? 1 : sizes_[0]);
  }
  int hop_wire(int d, int here, int hop) const {
    const std::vector<int>& chord = chord_[d][std::size_t(std::countr_zero(unsigned(std::abs(hop))))];
    const int there = moved(d, here, hop);
    const bool laid_here = hop > 0 ? chord[std::size_t(here)] >= 0 : chord[std::size_t(there)] < 0;
    return laid_here ? chord[std::size_t(here)] : back(chord[std::size_t(there)]);
  }

  std::vector<Place> around() const {
    const double radius = std::max(1.5, hosts_ / (2 * std::numbers::pi)) + 0.5;
    const auto on_circle = [](double r, double share) {
      const double turn = 2 * std::numbers::pi * share - std::numbers::pi / 2;
      return Place{r * std::cos(turn), r * std::sin(turn)};
    };
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host)
      places.push_back(on_circle(radius + 1, (host - (hosts_each_ - 1) / 2.0) / hosts_));
    for (int s = 0; s < sizes_[0]; ++s) places.push_back(on_circle(radius - 0.6, double(s) / sizes_[0]));
    return places;
  }

  std::vector<Place> in_rows() const {
    const double pitch = hosts_each_ * 0.6 + 1.2;
    const auto place = [&](int s) { return Place{at(0, s) * pitch, at(1, s) * 2.2}; };
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host) {
      const Place own = place(host / hosts_each_);
      places.push_back(
          {own.x + 0.7 + host % hosts_each_ * 0.6, own.y + 0.8});  // beside the cables of a column
    }
    for (int s = 0; s < switches(); ++s) places.push_back(place(s));
    return places;
  }

  int sizes_[2];
  int hosts_each_;
  std::vector<int> host_;  // the wire of each host to its switch
  std::vector<std::vector<int>>
      chord_[2];  // by dimension, log2 of the length, switch: -1 if laid at the other end
};

}  // namespace

std::unique_ptr<Topology> make_dln(const TopologyWord& word, const WireSpec& wires) {
  const bool flat = word.kind == "dln";
  word.demand(flat ? std::vector<std::size_t>{2} : std::vector<std::size_t>{3});
  std::vector<int> exponent = word.groups[0];
  if (flat) exponent.insert(exponent.begin() + 1, 0);
  const double columns = std::exp2(exponent[0]), rows = std::exp2(exponent[1]),
               hosts = std::exp2(exponent[2]);
  word.limit(columns * rows * (1 + hosts), columns * rows * (exponent[0] + exponent[1] + hosts));
  return std::make_unique<LoopNetwork>(word, wires, int(columns), int(rows), int(hosts));
}

}  // namespace paradl
