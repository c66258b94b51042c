#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/console/options.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/report/answer.hpp"

namespace paradl {

/// What was typed about a network. Empty: nothing.
struct NetworkWords {
  std::string topology, latency, bandwidth, inside_latency, inside_bandwidth, duplex, routing, watts,
      per_node, placement = "consecutive";
};
/// What its wires are like.
void define_wires(const Arguments& command, NetworkWords& words);
/// Which one it is, and where ranks sit.
void define_network(const Arguments& command, NetworkWords& words);

/// The network of a question, `--topology` or the system `--on`: its files are read once, and ranks are
/// seated on it as often as asked for.
class Network {
 public:
  Network(const Catalog& catalog, const NetworkWords& words, const Options& options);

  /// Whether it has hosts of its own: if not, as many as ranks are asked for.
  bool topology_known() const { return bool(topology_); }
  /// With room for `ranks` where its word leaves that open, as `crossbar` does.
  std::shared_ptr<const Topology> topology(int ranks) const;
  /// The same with its ranks seated; a file has seats for `most_ranks`, those of the largest job. Where ranks
  /// fill node after node, as those did that were measured, it has the measured links.
  Fabric fabric(int ranks, int most_ranks) const;
  /// The same ranks beside other jobs: low, typical, high. Nothing where no system says how these slow it.
  /// What is not slowed at all shares its topology with `fabric`.
  std::vector<Fabric> slowed(const Fabric& fabric) const;

  /// The system's, if the network is one's.
  const Machine* machine() const { return machine_.get(); }
  /// Whether what was measured of the system's links is to be used: asked for, or there and not refused.
  bool uses_measured_links() const { return measured_links_; }

  /// With which a GPU reads its memory, where the network is a system's.
  std::optional<Bandwidth> memory_bandwidth() const;

  /// What `-p` asks for; without it, all hosts of the topology.
  std::vector<int> ranks_asked_for(const Options& options) const;
  /// The files that it was read from.
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
  std::shared_ptr<const Topology> topology_;  // none: as many hosts as there are ranks
  struct Slowed {
    std::shared_ptr<const Topology> topology;
    std::shared_ptr<const Machine> machine;
  };
  std::vector<Slowed> slowed_;
  std::optional<SourceText> seats_;
  std::vector<InputFile> inputs_;
};

/// `900GB/s`, as typed behind --`option`.
Bandwidth read_rate(const std::string& option, const std::string& text);

/// What a file is called in an answer: its name without the folder.
std::string file_name(const SourceText& source);

/// `100MB`, `1MB,32MiB`, `1KB..1GB`, `1KB..1GB:x4`; a number alone is in bytes.
std::vector<Bytes> read_byte_sizes(const std::string& text);

}  // namespace paradl
