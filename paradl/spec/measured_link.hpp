#pragma once
#include <array>
#include <limits>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// The operations that can be measured on a link, with their names in files.
enum class LinkOperation { allreduce, allgather, reduce_scatter, all_to_all, point_to_point };

inline constexpr std::array<std::string_view, 5> link_operation_names{
    "allreduce", "allgather", "reduce-scatter", "all-to-all", "point-to-point"};
static_assert(names_every(LinkOperation::point_to_point, link_operation_names), "name every LinkOperation");

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
  LinkOperation operation = LinkOperation::point_to_point;
  MeasuredGroup group;
  Bytes from, below{std::numeric_limits<double>::infinity()};
  Seconds latency;
  Bandwidth bandwidth;
};

}  // namespace paradl
