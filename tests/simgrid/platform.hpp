#pragma once
#include <map>
#include <string>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

#include "paradl/network/topology.hpp"

// Describes our network to SimGrid. Hosts are n0, n1, ...
namespace paradl::test {

inline WireSpec wires_as_simgrid(bool half_duplex = false) {
  return {.link = {Seconds{500e-9}, 1.0 / Bandwidth{12.5e9}},
          .half_duplex = half_duplex,
          .routing = Routing::simgrid};
}

/// Sets the "clean" mode: flows share links by the inverse of their routes' latency, without other effects.
/// Call this before a platform is loaded.
inline void keep_simgrid_clean() {
  for (const char* setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "network/weight-S:0", "surf/precision:1e-12"})
    simgrid::s4u::Engine::set_config(setting);
}

/// Describes every wire and every route, for topologies that SimGrid does not have.
inline std::string links_and_routes(const Topology& topology) {
  std::string out = "  <zone id=\"z\" routing=\"Full\">\n";
  for (int h = 0; h < topology.hosts(); ++h) out += fmt::format("    <host id=\"n{}\" speed=\"1Tf\"/>\n", h);
  for (std::size_t w = 0; w < topology.wires().size(); ++w) {
    const Link& link = topology.wires()[w].link;
    out += fmt::format("    <link id=\"w{}\" bandwidth=\"{}Bps\" latency=\"{}s\"/>\n", w,
                       1 / link.beta.base(), link.alpha.base());
  }
  std::vector<int> wires;
  for (int from = 0; from < topology.hosts(); ++from)
    for (int to = 0; to < topology.hosts(); ++to) {
      if (from == to) continue;
      wires.clear();
      topology.route(from, to, wires);
      out += fmt::format("    <route src=\"n{}\" dst=\"n{}\" symmetrical=\"NO\">", from, to);
      for (const int w : wires) out += fmt::format("<link_ctn id=\"w{}\"/>", w);
      out += "</route>\n";
    }
  return out + "  </zone>\n";
}

/// Our notation is SimGrid's, except for the names of the kinds.
inline std::string platform_text(const Topology& topology) {
  static const std::map<std::string, std::string> kinds{
      {"crossbar", ""}, {"fattree", "FAT_TREE"}, {"torus", "TORUS"}, {"dragonfly", "DRAGONFLY"}};
  const std::string& word = topology.text();
  const auto kind = kinds.find(word.substr(0, word.find(':')));
  std::string body;
  if (kind == kinds.end()) {
    body = links_and_routes(topology);
  } else {
    const std::string shape = kind->second.empty()
                                  ? ""
                                  : fmt::format(R"(topology="{}" topo_parameters="{}")", kind->second,
                                                word.substr(word.find(':') + 1));
    body = fmt::format(
        R"(  <cluster id="c" prefix="n" suffix="" radical="0-{}" speed="1Tf" bw="12.5GBps" lat="500ns"
           sharing_policy="{}" loopback_bw="1GBps" loopback_lat="0" {}/>
)",
        topology.hosts() - 1, topology.half_duplex() ? "SHARED" : "SPLITDUPLEX", shape);
  }
  return fmt::format(R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
{}</platform>
)",
                     body);
}

}  // namespace paradl::test
