#pragma once
#include <string>

#include "paradl/network/topology.hpp"

namespace paradl {

/// A topology as SVG: hosts are numbered circles, switches squares, parallel cables thicker. UsageError if it
/// has too many vertices for a picture.
std::string topology_svg(const Topology& topology);

}  // namespace paradl
