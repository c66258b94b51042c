#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/machine/link.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// One level of links, which connects units of the level below.
struct Level {
  std::string name;
  double gpus = 1;    // in one unit of this level
  double inside = 1;  // GPUs in one unit of the level below
  Link link;
  double ports = 1;  // that connect one unit of the level below
  std::optional<Watts> watts;
  std::vector<MeasuredLink> measured;
};

/// The machine that a network runs on.
struct Machine {
  std::string name;
  std::string file;  // that describes it
  DeviceSpec device;
  std::vector<Level> levels;  // innermost first
  std::string topology;       // between nodes, by name: "torus:8,8"; empty: the levels are a tree
  bool half_duplex = false;
  std::optional<CongestionSpec> congestion;
  std::optional<HostSpec> host;
  std::optional<StorageSpec> node_storage, shared_storage;
  std::optional<Price> price;

  double gpus() const { return levels.back().gpus; }
  double gpus_per_node() const { return levels.front().gpus; }
  /// The outermost level that `p` neighbouring GPUs use: a ring is as slow as its slowest hop.
  const Level& spanned_by(double p) const;
};

Machine build_machine(const SystemSpec& spec);

/// The same machine without its measured links.
Machine without_measured_links(Machine machine);

/// A message from GPU to GPU through both hosts: as measured, or else copied to the host, sent over `link`
/// and copied to the GPU. UsageError if the host is unknown.
Link staged_message(const Machine& machine, const Link& link);
/// The time to copy a byte between a GPU and its host. UsageError if it is unknown.
SecondsPerByte staged_copy(const Machine& machine);

/// One GPU's share of its host if all `gpus` GPUs of a job copy at once.
struct HostShare {
  Bandwidth link;  // per direction
  Bytes memory;
  std::optional<Bandwidth> memory_bandwidth;
  double gpus = 1;  // of the job, on one node
};
/// UsageError if the system file does not have it.
HostShare host_share(const Machine& machine, double gpus);
/// Whether the system file has it.
bool knows_host(const Machine& machine);

/// The same machine while other jobs use its network: every link between nodes is slower by `factor`.
Machine congested(Machine machine, double factor);

}  // namespace paradl
