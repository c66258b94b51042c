#pragma once
#include <string>

#include "paradl/network/topology.hpp"

namespace paradl {

/// A topology as SVG: hosts are numbered circles, switches squares, bundles of cables thicker. UsageError if
/// it has more vertices than a picture can show.
std::string topology_svg(const Topology& topology);

}  // namespace paradl
