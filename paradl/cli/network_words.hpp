#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/console/options.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/report/answer.hpp"

namespace paradl {

/// The typed options about a network. Empty: not given.
struct NetworkWords {
  std::string topology, latency, bandwidth, inside_latency, inside_bandwidth, duplex, routing, watts,
      per_node, placement = "consecutive";
};
/// Options for its wires.
void define_wires(const Arguments& command, NetworkWords& words);
/// Options for the topology and the placement of ranks.
void define_network(const Arguments& command, NetworkWords& words);

/// The network of a question, from `--topology` or the system `--on`. Its files are read once; ranks can be
/// placed on it many times.
class Network {
 public:
  Network(const Catalog& catalog, const NetworkWords& words, const Options& options);

  /// Whether it has its own number of hosts; if not, there are as many hosts as ranks.
  bool topology_known() const { return bool(topology_); }
  /// The topology; if its text leaves the number of hosts open (`crossbar`), it has `ranks` hosts.
  std::shared_ptr<const Topology> topology(int ranks) const;
  /// The same with placed ranks. A placement file has a line for each of `most_ranks`, the ranks of the
  /// largest job. The fabric has measured links if ranks fill one node after the other, as in the
  /// measurements.
  Fabric fabric(int ranks, int most_ranks) const;
  /// The same ranks next to other jobs: low, typical, high. Empty if the network is not that of a system with
  /// `congestion`. A factor of 1 shares the topology of `fabric`.
  std::vector<Fabric> slowed(const Fabric& fabric) const;

  /// The machine, if the network is that of a system.
  const Machine* machine() const { return machine_.get(); }
  /// Whether to use the measured links of the system: they are requested, or exist and are not turned off.
  bool uses_measured_links() const { return measured_links_; }

  /// The memory bandwidth of a GPU, if the network is that of a system.
  std::optional<Bandwidth> memory_bandwidth() const;

  /// The numbers of `-p`; without it, all hosts of the topology.
  std::vector<int> ranks_asked_for(const Options& options) const;
  /// The files that the network was read from.
  const std::vector<InputFile>& inputs() const { return inputs_; }

 private:
  void read_system(const SystemSpec& spec, bool as_in_file);
  void read_word(const NetworkWords& words);
  void read_links(const Options& options);

  NetworkWords words_;
  std::shared_ptr<const Machine> machine_;
  bool measured_links_ = false;
  WireSpec wires_;
  std::optional<Watts> watts_;
  std::shared_ptr<const Topology> topology_;  // none: as many hosts as ranks
  struct Slowed {
    std::shared_ptr<const Topology> topology;
    std::shared_ptr<const Machine> machine;
  };
  std::vector<Slowed> slowed_;
  std::optional<SourceText> seats_;
  std::vector<InputFile> inputs_;
};

/// Reads `900GB/s`, the value of --`option`.
Bandwidth read_rate(const std::string& option, const std::string& text);

/// The name of a file in an answer: without its folder.
std::string file_name(const SourceText& source);

/// Reads `100MB`, `1MB,32MiB`, `1KB..1GB`, `1KB..1GB:x4`; a number without a unit is in bytes.
std::vector<Bytes> read_byte_sizes(const std::string& text);

}  // namespace paradl
