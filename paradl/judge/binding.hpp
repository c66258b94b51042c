#pragma once
#include <string>

#include "paradl/cost/mesh_table.hpp"

namespace paradl {

/// The shared link that limits an exchange.
struct Binding {
  std::string link;     // "node to rack", "host 3 to host 4"; empty: nothing is shared
  std::string unit;     // the unit whose ports they are, "node"; empty: a link between switches
  double ports = 1;     // of the unit; between switches: cables
  double enough = 1;    // number of ports or cables for a phi of 1
  bool routed = false;  // the flows were routed over wires; otherwise all ports of a unit count together
  int step = 0;         // the worst step of a schedule whose steps differ, counted from 1
  int steps = 0;        // number of its steps
};

/// Whether flows share a link.
constexpr bool is_shared(double phi) { return phi > 1 + 1e-9; }

/// Of a ring or a message on one level.
Binding binding_of(const Hop& hop, const Setting& setting, const Links& links);
/// Of the algorithm that was asked for.
Binding binding_of(const GradientGroup& group, const Setting& setting, const Links& links);

/// "4 flows leave a node through 2 ports; 4 ports would give φ = 1"
std::string text_of(const Binding& binding, double phi);

}  // namespace paradl
