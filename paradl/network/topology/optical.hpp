#pragma once
#include <span>

#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

/// Optical circuits next to a packet network, used by large messages between racks.
struct Optics {
  Bytes threshold;          // messages of at least this size
  Link circuit;             // latency and bandwidth from end to end; not shared
  int hosts = 1;            // of a rack
  int ports = 1;            // of a rack: circuits that it holds at a time
  Seconds reconfiguration;  // to set up other circuits; MEMS 10 to 25 ms, fast switches 10 to 100 us
};

/// An electrical network with an optical circuit switch beside it.
class OpticalTopology : public Topology {
 public:
  OpticalTopology(std::unique_ptr<Topology> electrical, const Optics& optics, std::string text = {});

  void route(int from, int to, std::vector<int>& wires) const override {
    electrical_->route(from, to, wires);
  }
  void route(int from, int to, Bytes size, std::vector<int>& wires) const override;
  std::vector<Place> places() const override;

  const Optics& optics() const { return optics_; }
  bool takes_circuit(int from, int to, Bytes size) const {
    return size >= optics_.threshold && from / optics_.hosts != to / optics_.hosts;
  }

 private:
  std::unique_ptr<Topology> electrical_;
  Optics optics_;
  std::vector<int> to_port_;  // of each host and port of its rack: the wire there
  std::vector<int> circuit_;  // of each rack and port: the wire to the optical switch
};

/// `optical:1MB,100GB/s,8,4,20us+SPEC`: threshold, rate, hosts of a rack, circuits of a rack, set-up; then
/// the electrical network.
std::unique_ptr<Topology> read_optical(std::string_view text, const WireSpec& wires, int hosts);

/// The set-up time of the circuits of a schedule, one repetition after another. Zero if every rack has enough
/// ports for all circuits that it ever needs, because these then stay.
Seconds reconfiguration_time(const Schedule& schedule, const OpticalTopology& topology,
                             std::span<const int> seats);

}  // namespace paradl
