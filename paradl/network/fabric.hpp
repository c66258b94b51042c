#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/network/algorithm.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

/// How a collective's time is found.
enum class NetworkFidelity { closed_form, link_load, flows };
inline constexpr std::array<std::string_view, 3> network_fidelities{"closed-form", "link-load", "flows"};
static_assert(names_every(NetworkFidelity::flows, network_fidelities), "name every NetworkFidelity");

/// Ranks seated on a topology, in nodes of `per_node` neighbours.
struct Fabric {
  std::shared_ptr<const Topology> topology;
  std::vector<int> seats;  // host of each rank
  int per_node = 1;
  std::shared_ptr<const Machine> measured = {};  // whose links were measured: closed forms are to use them

  int ranks() const { return int(seats.size()); }
};

/// GPUs of a node, or hosts of the first switch: what a topology has in the place of nodes. One where every
/// host is a switch of its own, or all hosts hang on one switch.
int hosts_of_a_switch(const Topology& topology);

/// What a closed form may know of a fabric: the longest latency and the slowest wire inside a node and
/// between nodes, and how many flows share a wire when every rank sends to its counterpart in the next node.
Ways ways_of(const Fabric& fabric);
/// The same with what was measured for a collective of that size; nothing if that is nothing.
std::optional<Ways> measured_ways(const Fabric& fabric, const Job& job);

/// What a collective takes.
struct CollectiveTime {
  Timing timing;  // phi, wire and step are those of the link loads, also beside a closed form
  std::optional<Seconds> closed_form = {};  // not of a schedule from a file
  std::optional<Seconds> link_load = {};    // beside a closed form, where the schedule is small enough
  std::optional<Seconds> specified = {};  // the closed form by specifications, where it is by measured links
  int steps = 0;
  std::optional<double> joules;  // of the cables in use, where it is known what they draw
};
/// A schedule's own time, by link loads or by flows; the set-up of circuits counts, too.
Timing timing_of(const Schedule& schedule, const Fabric& fabric, NetworkFidelity fidelity);

/// Whether a schedule has so few messages that it can be built and followed in seconds.
bool is_small(const Algorithm& algorithm, const Job& job, NetworkFidelity fidelity);
CollectiveTime time_of(const Algorithm& algorithm, const Job& job, const Fabric& fabric,
                       NetworkFidelity fidelity);

/// What has to be set up before a schedule can run: circuits, where there are some.
Seconds setup_of(const Schedule& schedule, const Topology& topology, std::span<const int> seats);

/// What the cables that a schedule uses draw while it runs: idle all the time, at their peak while something
/// is on them. Nothing if no wire says.
std::optional<double> joules_of(const Schedule& schedule, const Fabric& fabric, Seconds time);

/// Bytes per second as nccl-tests counts them: what the busiest wire of a ring would carry.
Bandwidth bus_bandwidth(const Job& job, Seconds time);

}  // namespace paradl
