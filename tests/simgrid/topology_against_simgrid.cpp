// Compares our routes with SimGrid's, wire by wire: `topology_against_simgrid torus:8,8 [half]`. One topology
// per run, because SimGrid numbers the hosts of fat trees per process. Wires have no common names: routes
// agree if there is a one-to-one mapping between SimGrid's links and our wires.

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/simgrid/platform.hpp"
#include "tests/support/temporary.hpp"

namespace {

using namespace paradl;
namespace sg = simgrid::s4u;

/// The number of host pairs whose route differs from SimGrid's.
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
  const auto ours = read_topology(argv[1], test::wires_as_simgrid(half_duplex), 8);
  const test::TemporaryFolder folder;
  engine.load_platform(folder.write("platform.xml", test::platform_text(*ours)));
  engine.seal_platform();
  const int different = count_differences(*ours, engine);
  fmt::print("{}: {} pairs of hosts, {} with another route\n", argv[1], ours->hosts() * (ours->hosts() - 1),
             different);
  return different == 0 ? 0 : 1;
}
