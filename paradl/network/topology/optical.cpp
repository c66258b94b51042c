#include "paradl/network/topology/optical.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/units.hpp"
#include "paradl/network/topology/kinds.hpp"

namespace paradl {

OpticalTopology::OpticalTopology(std::unique_ptr<Topology> electrical, const Optics& optics, std::string text)
    : Topology(text.empty() ? electrical->text() + " with circuits" : std::move(text), electrical->hosts(),
               electrical->switches(), electrical->half_duplex()),
      electrical_(std::move(electrical)),
      optics_(optics) {
  if (optics.hosts < 1 || optics.ports < 1)
    throw UsageError(
        "a rack with circuits needs a host and a port at least",
        "write optical:1MB,100GB/s,8,4,20us+SPEC: threshold, rate, hosts and circuits of a rack, set-up");
  source_ = electrical_->source();
  wires_ = electrical_->wires();
  const int racks = (hosts_ + optics.hosts - 1) / optics.hosts, first_port = vertices_;
  const int core = vertices_ + racks * optics.ports;
  vertices_ = core + 1;
  // The two halves of a circuit have its latency; the wires from a host to the ports of its rack have none.
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
  const double floor = 1 + (right - left) / 16;  // as in a tree of that width
  for (std::size_t port = 0; port < ports; ++port)
    places.push_back({left + (double(port) + 0.5) * (right - left) / double(ports), top - floor});
  places.push_back({(left + right) / 2, top - 2 * floor});
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

std::unique_ptr<Topology> read_optical(std::string_view text, const WireSpec& wires, int hosts) {
  constexpr std::string_view form =
      "write optical:1MB,100GB/s,8,4,20us+torus:8,8: threshold, rate, hosts and circuits of a rack, set-up";
  const auto refuse = [&](const std::string& reason) {
    return UsageError(fmt::format("the topology `{}` {}", shortened(std::string(text)), reason),
                      std::string(form));
  };
  const std::size_t colon = text.find(':'), plus = text.find('+');
  if (colon == text.npos || plus == text.npos) throw refuse("has no electrical network after a `+`");
  std::vector<std::string> words;
  for (std::string_view rest = text.substr(colon + 1, plus - colon - 1);;) {
    words.emplace_back(rest.substr(0, rest.find(',')));
    if (words.back().size() == rest.size()) break;
    rest.remove_prefix(words.back().size() + 1);
  }
  if (text.substr(plus + 1).starts_with("optical:")) throw refuse("has optical circuits twice");
  if (words.size() != 5) throw refuse(fmt::format("has {} values for its circuits, not 5", words.size()));
  const auto whole = [&](const std::string& word) {
    int value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc{} || end != word.data() + word.size() || value < 1 || value > 100'000)
      throw refuse(fmt::format("has `{}` where a number from 1 to 100000 should be", word));
    return value;
  };
  const auto threshold = parse<Bytes>(words[0]);
  const auto rate = parse<Bandwidth>(words[1]);
  const auto setup = parse<Seconds>(words[4]);
  if (!threshold || !rate || !setup || !(rate->base() > 0)) throw refuse("has circuits that cannot be read");
  const Optics optics{.threshold = *threshold,
                      .circuit = {wires.link.alpha, 1.0 / *rate},
                      .hosts = whole(words[2]),
                      .ports = whole(words[3]),
                      .reconfiguration = *setup};
  auto electrical = read_topology(text.substr(plus + 1), wires, hosts);
  const double racks = std::ceil(double(electrical->hosts()) / optics.hosts), ports = optics.ports;
  const TopologyWord limits{.text = std::string(text), .kind = {}, .groups = {}, .form = std::string(form)};
  limits.limit(electrical->vertices() + racks * ports + 1,
               double(electrical->wires().size()) + (electrical->hosts() + racks) * ports);
  std::string word = std::string(text.substr(0, plus + 1)) + electrical->text();
  return std::make_unique<OpticalTopology>(std::move(electrical), optics, std::move(word));
}

}  // namespace paradl
