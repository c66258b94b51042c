// Compares our routes with SimGrid's, wire by wire: `topology_against_simgrid torus:8,8 [half]`. One topology
// a run, because SimGrid numbers the hosts of fat trees per process. Wires have no common names: the routes
// agree if SimGrid's links and our wires can be named after each other, one to one, all over.

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

#include "paradl/core/error.hpp"
#include "paradl/network/topology.hpp"
#include "tests/support/temporary.hpp"

namespace {

using namespace paradl;
namespace sg = simgrid::s4u;

/// Our word is SimGrid's own notation: only the kinds have other names.
std::string platform(const std::string& word, int hosts, bool half_duplex) {
  static const std::map<std::string, std::string> kinds{
      {"fattree", "FAT_TREE"}, {"torus", "TORUS"}, {"dragonfly", "DRAGONFLY"}};
  const auto kind = kinds.find(word.substr(0, word.find(':')));
  const std::string shape = kind == kinds.end() ? ""
                                                : fmt::format(R"(topology="{}" topo_parameters="{}")",
                                                              kind->second, word.substr(word.find(':') + 1));
  return fmt::format(R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{}" speed="1Tf" bw="12.5GBps" lat="500ns" 
           sharing_policy="{}" loopback_bw="1GBps" loopback_lat="0" {}/>
</platform>
)",
                     hosts - 1, half_duplex ? "SHARED" : "SPLITDUPLEX", shape);
}

/// How many pairs of hosts have another route in SimGrid.
int count_differences(const Topology& ours, const sg::Engine& theirs) {
  std::map<std::string, int> wire_of;
  std::map<int, std::string> link_of;
  int different = 0;
  for (int from = 0; from < ours.hosts(); ++from)
    for (int to = 0; to < ours.hosts(); ++to) {
      if (from == to) continue;
      std::vector<sg::Link*> links;
      double latency = 0;
      theirs.host_by_name(fmt::format("n{}", from))
          ->route_to(theirs.host_by_name(fmt::format("n{}", to)), links, &latency);
      std::vector<int> wires;
      ours.route(from, to, wires);
      bool same = links.size() == wires.size();
      for (std::size_t i = 0; same && i < wires.size(); ++i) {
        const std::string name = links[i]->get_name();
        same = wire_of.try_emplace(name, wires[i]).first->second == wires[i] &&
               link_of.try_emplace(wires[i], name).first->second == name;
      }
      different += !same;
    }
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  if (argc < 2) return std::puts("usage: topology_against_simgrid TOPOLOGY [half]"), 2;
  const bool half_duplex = argc > 2 && std::string(argv[2]) == "half";
  const WireSpec wires{.link = {Seconds{500e-9}, 1.0 / Bandwidth{12.5e9}},
                       .half_duplex = half_duplex,
                       .routing = Routing::simgrid};
  const auto ours = read_topology(argv[1], wires, 8);
  const test::TemporaryFolder folder;
  engine.load_platform(folder.write("platform.xml", platform(argv[1], ours->hosts(), half_duplex)));
  engine.seal_platform();
  const int different = count_differences(*ours, engine);
  fmt::print("{}: {} pairs of hosts, {} with another route\n", argv[1], ours->hosts() * (ours->hosts() - 1),
             different);
  return different == 0 ? 0 : 1;
}
