// Dragonfly: groups of chassis of routers, after the Cray Cascade. All routers of a chassis are linked
// (green), all routers of a group with the same place in their chassis (black), and every group with every
// other (blue): router number j of group i holds the cable to group j. Several cables of a pair are one wire
// of their joint bandwidth.

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "paradl/network/topology/kinds.hpp"

namespace paradl {
namespace {

class Dragonfly : public Topology {
 public:
  Dragonfly(const TopologyWord& word, const WireSpec& wires, int routers)
      : Topology(word.text, routers * word.groups[3][0], routers, wires.half_duplex),
        routing_(wires.routing),
        groups_(word.groups[0][0]),
        chassis_(word.groups[1][0]),
        places_(word.groups[2][0]),
        hosts_each_(word.groups[3][0]) {
    const auto bundle = [&](int a, int b, int cables) {
      const Link link{wires.link.alpha, wires.link.beta / cables};
      return add_cable(hosts_ + a, hosts_ + b, link, cables);
    };
    for (int host = 0; host < hosts_; ++host)
      host_.push_back(add_cable(host, hosts_ + host / hosts_each_, wires.link));

    green_.assign(std::size_t(routers) * std::size_t(places_), -1);
    black_.assign(std::size_t(routers) * std::size_t(chassis_), -1);
    blue_.assign(std::size_t(groups_) * std::size_t(groups_), -1);
    for (int a = 0; a < routers; ++a) {
      for (int place = place_of(a) + 1; place < places_; ++place) {
        const int b = a - place_of(a) + place;
        green(b, place_of(a)) = back(green(a, place) = bundle(a, b, word.groups[2][1]));
      }
      for (int other = chassis_of(a) + 1; other < chassis_; ++other) {
        const int b = a + (other - chassis_of(a)) * places_;
        black(b, chassis_of(a)) = back(black(a, other) = bundle(a, b, word.groups[1][1]));
      }
    }
    for (int i = 0; i < groups_; ++i)
      for (int j = i + 1; j < groups_; ++j)
        blue(j, i) = back(blue(i, j) = bundle(gate(i, j), gate(j, i), word.groups[0][1]));
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override {
    if (from == to) return;
    const int target = to / hosts_each_;
    int router = from / hosts_each_;
    wires.push_back(host_[std::size_t(from)]);
    if (group_of(router) != group_of(target)) {
      const int there = group_of(target), here = group_of(router);
      cross_group(router, gate(here, there), wires);
      wires.push_back(blue(here, there));
      router = gate(there, here);
    }
    if (routing_ == Routing::simgrid)
      cross_group_as_simgrid(router, target, wires);
    else
      cross_group(router, target, wires);
    wires.push_back(back(host_[std::size_t(to)]));
  }

  std::vector<Place> places() const override {
    // Groups around a circle; in each its chassis as rows of routers, the hosts of a router in a row below
    // it.
    const double pitch = std::max(2.0, hosts_each_ * 0.7 + 0.6);
    const double width = places_ * pitch, height = chassis_ * 2.4;
    const double around = groups_ * (std::hypot(width, height) + 1) / (2 * std::numbers::pi);
    const double radius = groups_ == 1 ? 0 : std::max(around, std::hypot(width, height) * 0.7);
    const auto router_place = [&](int router) {
      const double turn = 2 * std::numbers::pi * (group_of(router) + 0.5) / groups_ - std::numbers::pi / 2;
      return Place{radius * std::cos(turn) + (place_of(router) - (places_ - 1) / 2.0) * pitch,
                   radius * std::sin(turn) + (chassis_of(router) - (chassis_ - 1) / 2.0) * 2.4};
    };
    std::vector<Place> places;
    for (int host = 0; host < hosts_; ++host) {
      const Place router = router_place(host / hosts_each_);
      places.push_back({router.x + (host % hosts_each_ - (hosts_each_ - 1) / 2.0) * 0.7, router.y + 0.9});
    }
    for (int router = 0; router < switches(); ++router) places.push_back(router_place(router));
    return places;
  }

 private:
  int place_of(int router) const { return router % places_; }
  int chassis_of(int router) const { return router / places_ % chassis_; }
  int group_of(int router) const { return router / places_ / chassis_; }
  /// The router of one group that holds the cable to another.
  int gate(int group, int other) const {
    const int routers = chassis_ * places_;
    return group * routers + other % routers;
  }

  int& green(int router, int place) { return green_[std::size_t(router * places_ + place)]; }
  int& black(int router, int chassis) { return black_[std::size_t(router * chassis_ + chassis)]; }
  int& blue(int group, int other) { return blue_[std::size_t(group * groups_ + other)]; }
  int green(int router, int place) const { return green_[std::size_t(router * places_ + place)]; }
  int black(int router, int chassis) const { return black_[std::size_t(router * chassis_ + chassis)]; }
  int blue(int group, int other) const { return blue_[std::size_t(group * groups_ + other)]; }

  /// First to the right place in the chassis, then to the right chassis.
  void cross_group(int router, int target, std::vector<int>& wires) const {
    const int corner = router - place_of(router) + place_of(target);
    if (router != corner) wires.push_back(green(router, place_of(target)));
    if (corner != target) wires.push_back(black(corner, chassis_of(target)));
  }

  /// SimGrid takes every green hop of the last group to end in chassis 0, whatever its real chassis. The
  /// route is then not connected; it is kept so that SimGrid's numbers can be reproduced.
  void cross_group_as_simgrid(int router, int target, std::vector<int>& wires) const {
    if (place_of(router) != place_of(target)) {
      wires.push_back(green(router, place_of(target)));
      router = group_of(target) * chassis_ * places_ + place_of(target);
    }
    if (chassis_of(router) != chassis_of(target)) wires.push_back(black(router, chassis_of(target)));
  }

  Routing routing_;
  int groups_, chassis_, places_, hosts_each_;
  std::vector<int> host_;  // the wire of each host to its router
  std::vector<int> green_, black_,
      blue_;  // from each router to each place, or chassis; from each group to each
};

}  // namespace

std::unique_ptr<Topology> make_dragonfly(const TopologyWord& word, const WireSpec& wires) {
  word.demand({2, 2, 2, 1});
  const double groups = word.groups[0][0], chassis = word.groups[1][0], places = word.groups[2][0];
  const double routers = groups * chassis * places, hosts = routers * word.groups[3][0];
  const double blue = groups * (groups - 1) / 2, black = routers * (chassis - 1) / 2,
               green = routers * (places - 1) / 2;
  word.limit(routers + hosts,
             hosts + blue * word.groups[0][1] + black * word.groups[1][1] + green * word.groups[2][1]);
  if (wires.routing == Routing::simgrid && groups > places)
    word.refuse(
        fmt::format("has {} groups and {} routers a chassis: SimGrid's routing needs at least as many "
                    "routers as groups",
                    groups, places));
  return std::make_unique<Dragonfly>(word, wires, int(routers));
}

}  // namespace paradl
