#pragma once
#include <optional>

#include "paradl/network/topology/kinds.hpp"

namespace paradl {

/// How the GPUs of a node are connected.
enum class NodeKind { nvlink, nvswitch, pcie };
std::optional<NodeKind> node_kind(std::string_view name);

struct NodeSpec {
  NodeKind kind = NodeKind::nvswitch;
  int gpus = 1, ports = 1;
  Link link;  // of each wire inside
};

/// Nodes that replace the hosts of `outside`: port j of node k is its host k * ports + j.
std::unique_ptr<Topology> put_nodes(std::unique_ptr<Topology> outside, const TopologyWord& word,
                                    const NodeSpec& node);

}  // namespace paradl
