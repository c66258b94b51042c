#pragma once
#include <array>
#include <limits>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// What can be measured on a link, under the names that files use.
enum class LinkOperation { allreduce, allgather, reduce_scatter, all_to_all, point_to_point };

inline constexpr std::array<std::string_view, 5> link_operation_names{
    "allreduce", "allgather", "reduce-scatter", "all-to-all", "point-to-point"};
static_assert(names_every(LinkOperation::point_to_point, link_operation_names), "name every LinkOperation");

/// The GPUs that took part in a measurement. One GPU a node measures the links between nodes alone; several
/// measure a collective as a whole, within nodes and between them.
struct MeasuredGroup {
  int gpus = 0;  // 0: none is named, and the numbers serve groups of any size
  int nodes = 1;
  int per_node() const { return gpus / nodes; }
  friend bool operator==(const MeasuredGroup&, const MeasuredGroup&) = default;
};

/// Alpha and 1/beta of one message of an operation's ring (of `network/collective.cpp`'s formula), as
/// measured on a group for buffers from `from` bytes up to, but not including, `below`.
struct MeasuredLinkSpec {
  LinkOperation operation = LinkOperation::point_to_point;
  MeasuredGroup group;
  Bytes from, below{std::numeric_limits<double>::infinity()};
  Seconds latency;
  Bandwidth bandwidth;
};

}  // namespace paradl
