#pragma once
#include <array>
#include <string_view>

#include "paradl/machine/link.hpp"

namespace paradl {

/// Time that is linear in the bytes of the buffer, as all closed forms here are: sums of bytes can be priced
/// at once.
struct Linear {
  Seconds fixed;
  SecondsPerByte per_byte;
  Seconds operator()(Bytes m) const { return fixed + m * per_byte; }
  friend Linear operator*(double k, Linear c) { return {k * c.fixed, k * c.per_byte}; }
};

/// One level of a group's path: `size` subgroups communicate over `link`, on which phi flows share one port.
struct Hop {
  double size = 1;  // not a whole number where the last subgroup has fewer members than the others
  Link link;
  double phi = 1;
  std::string_view level;
  int narrow = 0;         // the level whose ports flows share, if flows were counted
  int wire = -1;          // the wire that flows share, if flows were routed
  bool measured = false;  // the link was measured, not specified
  bool as_group = false;  // measured on whole groups, with the algorithm that the library chose
  /// The number of subgroups, full or not: all are priced as the fullest.
  double subgroups() const;
};

/// How a group of GPUs is spread over the machine, innermost level first.
struct Path {
  std::array<Hop, 8> hop;
  int hops = 0;
  double in_node = 1;  // GPUs of the group in one node
  double sisters = 1;  // groups like this one in a node, itself among them
  double size() const;
  /// The slowest link that the group uses, phi included.
  const Hop& outermost() const;
  /// The first level with more than one subgroup.
  const Hop& innermost() const;
};

/// Cost of a collective as a function of the bytes of the *whole* buffer (all_to_all, point_to_point: of one
/// GPU's part).
Linear cost(Collective operation, const Path& path);

/// An allreduce for short messages: rings inside nodes, which cut the buffer, and on each outer level trees
/// that reduce and broadcast the rest. Libraries use it if the start-ups of a ring through all nodes cost
/// more than the bytes.
Linear tree_allreduce(const Path& path);
/// Whether the links of a path are those of single messages, so that an algorithm can be chosen.
bool is_by_levels(const Path& path);

/// The formula of cost(), of one level; levels add up.
std::string_view formula_of(Collective operation);

// Flat rings on one link, as in the paper. Every function is zero at p = 1 and linear in m.
Seconds ring_allreduce(double p, Bytes m, Link link);
Seconds ring_allgather(double p, Bytes m, Link link);
Seconds point_to_point(Bytes m, Link link);

}  // namespace paradl
