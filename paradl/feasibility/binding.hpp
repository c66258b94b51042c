#pragma once
#include <string>

#include "paradl/cost/mesh_table.hpp"

namespace paradl {

/// The link for which the flows of an exchange queue.
struct Binding {
  std::string link;     // "node to rack", "host 3 to host 4"; empty: nothing is shared
  std::string unit;     // what leaves by it, "node"; empty: it lies in the middle of the network
  double ports = 1;     // by which the unit leaves; in the middle of the network: cables
  double enough = 1;    // so many of them would make phi 1
  bool routed = false;  // one wire was found; else all ports of a unit were counted together
  int step = 0;         // of the schedule, where its steps differ: the worst; from 1
  int steps = 0;        // of so many
};

/// Of a ring or a message on one level.
Binding binding_of(const Hop& hop, const Setting& setting, const Links& links);
/// Of the algorithm that was asked for.
Binding binding_of(const GradientGroup& group, const Setting& setting, const Links& links);

/// "4 flows leave a node through 2 ports; 4 ports would make it 1"
std::string text_of(const Binding& binding, double phi);

}  // namespace paradl
