#pragma once
#include <vector>

#include "paradl/network/topology.hpp"

namespace paradl {

/// A rank that joins a tree: its parent sends to it in that step.
struct Branch {
  int root = 0, parent = 0, child = 0, step = 0;
};

/// One spanning tree for each host, built at once so that no wire is used twice in a step. In order of steps.
/// UsageError if some host cannot be reached.
std::vector<Branch> grow_trees(const Topology& topology);

}  // namespace paradl
