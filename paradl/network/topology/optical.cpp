#include "paradl/network/topology/optical.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "paradl/core/error.hpp"

namespace paradl {

OpticalTopology::OpticalTopology(std::unique_ptr<Topology> electrical, const Optics& optics)
    : Topology(electrical->text() + " with circuits", electrical->hosts(), electrical->switches(),
               electrical->half_duplex()),
      electrical_(std::move(electrical)),
      optics_(optics) {
  if (optics.hosts < 1 || optics.ports < 1)
    throw UsageError("a rack with circuits needs a host and a port at least");
  wires_ = electrical_->wires();
  const int racks = (hosts_ + optics.hosts - 1) / optics.hosts, first_port = vertices_;
  const int core = vertices_ + racks * optics.ports;
  vertices_ = core + 1;
  // The latency lies on the circuit's two halves; from a host to the ports of its rack it takes no time.
  const Link half{0.5 * optics.circuit.alpha, optics.circuit.beta}, inside{Seconds{}, optics.circuit.beta};
  for (int host = 0; host < hosts_; ++host)
    for (int port = 0; port < optics.ports; ++port)
      to_port_.push_back(add_cable(host, first_port + host / optics.hosts * optics.ports + port, inside));
  for (int port = first_port; port < core; ++port) circuit_.push_back(add_cable(port, core, half));
}

void OpticalTopology::route(int from, int to, Bytes size, std::vector<int>& wires) const {
  if (!takes_circuit(from, to, size)) return electrical_->route(from, to, size, wires);
  // Either end names the port by the other, so that circuits to several racks at once take several ports.
  const int ports = optics_.ports, source = from / optics_.hosts, target = to / optics_.hosts;
  const int out = target % ports, in = source % ports;
  wires.push_back(to_port_[std::size_t(from * ports + out)]);
  wires.push_back(circuit_[std::size_t(source * ports + out)]);
  wires.push_back(back(circuit_[std::size_t(target * ports + in)]));
  wires.push_back(back(to_port_[std::size_t(to * ports + in)]));
}

std::vector<Place> OpticalTopology::places() const {
  std::vector<Place> places = electrical_->places();
  double left = 0, right = 0, top = 0;
  for (const Place& place : places)
    left = std::min(left, place.x), right = std::max(right, place.x), top = std::min(top, place.y);
  const auto ports = circuit_.size();
  for (std::size_t port = 0; port < ports; ++port)
    places.push_back({left + (double(port) + 0.5) * (right - left) / double(ports), top - 2});
  places.push_back({(left + right) / 2, top - 4});
  return places;
}

Seconds reconfiguration_time(const Schedule& schedule, const OpticalTopology& topology,
                             std::span<const int> seats) {
  using Circuits = std::set<std::pair<int, int>>;  // of racks
  const int hosts = topology.optics().hosts;
  Circuits all, held;
  double changes = 0;
  for (const Step& step : schedule.steps) {
    Circuits wanted;
    for (const Flow& flow : schedule.of(step)) {
      const int from = seats[std::size_t(flow.source)], to = seats[std::size_t(flow.target)];
      if (topology.takes_circuit(from, to, flow.bytes)) wanted.emplace(from / hosts, to / hosts);
    }
    all.insert(wanted.begin(), wanted.end());
    if (std::ranges::includes(held, wanted)) continue;
    held = std::move(wanted);
    ++changes;
  }
  // A rack's circuits, both ways: what it sends to, and what it receives from.
  std::vector<int> out(std::size_t(topology.hosts()), 0), in = out;
  int most = 0;
  for (const auto& [from, to] : all) most = std::max({most, ++out[std::size_t(from)], ++in[std::size_t(to)]});
  return most <= topology.optics().ports ? Seconds{} : changes * topology.optics().reconfiguration;
}

}  // namespace paradl
