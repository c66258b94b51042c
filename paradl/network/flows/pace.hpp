#pragma once
#include <optional>

#include "paradl/network/routes.hpp"

namespace paradl {

/// When the last rank is done with a schedule that ends with one step over and over, from a step on that all
/// ranks begin at `clock`: in seconds. Nothing if it ends with something else, if more than a few flows meet
/// on wires, or if those that meet do not come to a steady pace.
std::optional<double> run_at_pace(const Schedule& schedule, const Topology& topology, const Routes& routes,
                                  std::size_t first_step, double clock);

}  // namespace paradl
