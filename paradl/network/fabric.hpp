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

/// Ranks placed on the hosts of a topology, in nodes of `per_node` neighbours.
struct Fabric {
  std::shared_ptr<const Topology> topology;
  std::vector<int> seats;  // host of each rank
  int per_node = 1;
  std::shared_ptr<const Machine> measured = {};  // a machine whose measured links closed forms use

  int ranks() const { return int(seats.size()); }
};

/// Ranks per node: GPUs of a node, or hosts of the first switch of a topology without nodes. One if every
/// host is a switch, or if there is only one switch.
int hosts_of_a_switch(const Topology& topology);

/// The collective whose measured links an operation uses: a halo consists of messages. Nothing: it uses the
/// specified links.
std::optional<Collective> measured_as(Operation operation);

/// The links of a fabric as closed forms see them: the longest latency and the slowest wire inside a node and
/// between nodes, and how many flows share a wire when every rank sends to its counterpart in the next node.
Ways ways_of(const Fabric& fabric);
/// The same with links that were measured for a collective of that size; nothing if there are none.
std::optional<Ways> measured_ways(const Fabric& fabric, const Job& job);

/// The time of a collective.
struct CollectiveTime {
  Timing timing;  // phi, wire and step are those of the link loads, also with a closed form
  std::optional<Seconds> closed_form = {};  // none for a schedule from a file
  std::optional<Seconds> link_load = {};    // with a closed form, if the schedule is small enough
  std::optional<Seconds> specified = {};  // the closed form by specifications, where it is by measured links
  int steps = 0;
  std::optional<double> joules;  // of the cables in use, if their power is known
};
/// The time of a schedule by link loads or by flows, including the set-up of circuits.
Timing timing_of(const Schedule& schedule, const Fabric& fabric, NetworkFidelity fidelity);

/// Whether a schedule has few enough messages to be built and simulated in seconds.
bool is_small(const Algorithm& algorithm, const Job& job, NetworkFidelity fidelity);
CollectiveTime time_of(const Algorithm& algorithm, const Job& job, const Fabric& fabric,
                       NetworkFidelity fidelity);

/// Time to set up circuits before a schedule can run; zero without circuits.
Seconds setup_of(const Schedule& schedule, const Topology& topology, std::span<const int> seats);

/// Energy of the cables that a schedule uses while it runs: at peak power while they send, else idle. Nothing
/// if the power of cables is not known.
std::optional<double> joules_of(const Schedule& schedule, const Fabric& fabric, Seconds time);

/// Bytes per second as nccl-tests counts them: the rate on the busiest wire of a ring.
Bandwidth bus_bandwidth(const Job& job, Seconds time);

}  // namespace paradl
