#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/machine/link.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// One level of links: units of the level below, joined.
struct Level {
  std::string name;
  double gpus = 1;    // in one unit of this level
  double inside = 1;  // in one unit of the level below
  Link link;
  double ports = 1;  // through which one unit of the level below leaves
  std::optional<Watts> watts;
  std::vector<MeasuredLink> measured;
};

/// What a network runs on.
struct Machine {
  std::string name;
  std::string file;  // that describes it
  DeviceSpec device;
  std::vector<Level> levels;  // innermost first
  std::string topology;       // between nodes, as a word: "torus:8,8"; empty: the levels are a tree
  bool half_duplex = false;
  std::optional<CongestionSpec> congestion;
  std::optional<HostSpec> host;
  std::optional<StorageSpec> node_storage, shared_storage;
  std::optional<Price> price;

  double gpus() const { return levels.back().gpus; }
  double gpus_per_node() const { return levels.front().gpus; }
  /// The level that `p` neighbouring GPUs span: one hop outside makes a whole ring as slow as that hop.
  const Level& spanned_by(double p) const;
};

Machine build_machine(const SystemSpec& spec);

/// The same machine by its specifications alone.
Machine without_measured_links(Machine machine);

/// A message from GPU to GPU by way of both hosts: as it was measured; else copied out, sent over `link` and
/// copied in. UsageError if nothing is known of the host.
Link staged_message(const Machine& machine, const Link& link);
/// What a byte costs to be copied between a GPU and its host. UsageError if nothing is known of it.
SecondsPerByte staged_copy(const Machine& machine);

/// What one of `gpus` GPUs of a job has of its host, if all of them copy at once.
struct HostShare {
  Bandwidth link;  // each way
  Bytes memory;
  std::optional<Bandwidth> memory_bandwidth;
  double gpus = 1;  // of the job, on one node
};
/// UsageError if the system file does not say it.
HostShare host_share(const Machine& machine, double gpus);
/// Whether it does.
bool knows_host(const Machine& machine);

/// The same machine while other jobs use its network: every link between nodes is `factor` times as slow.
Machine congested(Machine machine, double factor);

}  // namespace paradl
