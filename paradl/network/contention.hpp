#pragma once
#include <cstdint>
#include <vector>

#include "paradl/network/routes.hpp"

namespace paradl {

/// The routes without wires that no two flows ever share. On such a wire, one rank is an end of every flow,
/// and has at most one flow in each step; a rank is in one step at a time. The wire is kept only if it limits
/// a flow. A flow without wires shares nothing.
Routes contended(const Schedule& schedule, const Topology& topology, Routes routes);

/// For each flow, the first flow of its step with the same bytes, latency and wires. Such flows that start
/// together also end together, so that simulating one of them is enough.
std::vector<std::uint32_t> find_alike(const Schedule& schedule, const Routes& routes);

}  // namespace paradl
