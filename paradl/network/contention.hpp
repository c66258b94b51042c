#pragma once
#include <cstdint>
#include <vector>

#include "paradl/network/routes.hpp"

namespace paradl {

/// The routes without the wires on which no two flows ever meet: those of which one rank is an end of every
/// flow, and of one flow a step at most, as a rank is in one step at a time. Such a wire stays only where it
/// is what limits a flow. A flow without wires is alone all its way.
Routes contended(const Schedule& schedule, const Topology& topology, Routes routes);

/// Of each flow the first one of its step that has the same bytes and latency and crosses the same wires:
/// when they start together they go on and end together, so that one of them can be followed for all.
std::vector<std::uint32_t> find_alike(const Schedule& schedule, const Routes& routes);

}  // namespace paradl
