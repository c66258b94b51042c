#pragma once
#include <optional>

#include "paradl/network/routes.hpp"

namespace paradl {

/// The end, in seconds, of a schedule whose last step is repeated many times; all ranks begin `first_step` at
/// `clock`. Nothing if the schedule is of another form, if many flows share wires, or if those that do never
/// reach a steady pace.
std::optional<double> run_at_pace(const Schedule& schedule, const Topology& topology, const Routes& routes,
                                  std::size_t first_step, double clock);

}  // namespace paradl
