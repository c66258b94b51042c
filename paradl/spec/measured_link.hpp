#pragma once
#include <limits>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/collective.hpp"

namespace paradl {

/// The GPUs that took part in a measurement. One GPU per node measures only the links between nodes; several
/// measure a whole collective, within nodes and between them.
struct MeasuredGroup {
  int gpus = 0;  // 0: not stated, and the numbers are used for groups of any size
  int nodes = 1;
  int per_node() const { return gpus / nodes; }
  friend bool operator==(const MeasuredGroup&, const MeasuredGroup&) = default;
};

/// Alpha and 1/beta of one message in an operation's ring (see the formulas in `network/collective.cpp`),
/// measured on a group for buffers from `from` bytes up to, but not including, `below`.
struct MeasuredLinkSpec {
  Collective operation = Collective::point_to_point;
  MeasuredGroup group;
  Bytes from, below{std::numeric_limits<double>::infinity()};
  Seconds latency;
  Bandwidth bandwidth;
};

}  // namespace paradl
