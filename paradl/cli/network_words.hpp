#pragma once
#include <string>
#include <vector>

#include "paradl/cli/ask.hpp"
#include "paradl/network/fabric.hpp"

namespace paradl {

/// What commands about networks are told of one.
struct NetworkWords {
  std::string topology, latency = "500ns", bandwidth = "12.5GB/s", inside_latency, inside_bandwidth,
                        duplex = "full", routing = "minimal", placement = "consecutive", per_node, watts;
};
void define_network(const Arguments& command, NetworkWords& words);

/// The topology of `--topology`, or that of the system `--on`; with room for `ranks`.
std::shared_ptr<const Topology> make_topology(const Catalog& catalog, const NetworkWords& words,
                                              const Options& options, int ranks);
/// The same with its ranks seated.
Fabric make_fabric(const Catalog& catalog, const NetworkWords& words, const Options& options, int ranks);

/// What `-p` asks for; without it, all hosts of the topology.
std::vector<int> ranks_asked_for(const Catalog& catalog, const NetworkWords& words, const Options& options);

/// `100MB`, `1MB,32MiB`, `1KB..1GB`, `1KB..1GB:x4`; a number alone is in bytes.
std::vector<Bytes> read_byte_sizes(const std::string& text);

}  // namespace paradl
