#pragma once
#include <array>
#include <string_view>

#include "paradl/machine/link.hpp"

namespace paradl {

/// Time that is linear in the bytes of the buffer: every closed form here is, so sums of bytes can be priced
/// at once.
struct Linear {
  Seconds fixed;
  SecondsPerByte per_byte;
  Seconds operator()(Bytes m) const { return fixed + m * per_byte; }
  friend Linear operator*(double k, Linear c) { return {k * c.fixed, k * c.per_byte}; }
};

/// One level that a group climbs: `size` subgroups meet over `link`, on which phi flows share one port.
struct Hop {
  double size = 1;
  Link link;
  double phi = 1;
  std::string_view level;
  int narrow = 0;         // the level whose ports they share, where flows were counted
  int wire = -1;          // the wire that they share, where flows were routed
  bool measured = false;  // the link is one that was measured, not the specified one
};

/// How a group of PEs is spread over the machine, innermost level first.
struct Path {
  std::array<Hop, 8> hop;
  int hops = 0;
  double in_node = 1;  // of the group's PEs
  double sisters = 1;  // groups like this one in a node, itself among them
  double size() const;
  /// The slowest link that the group uses, phi included.
  const Hop& outermost() const;
  /// The first level on which subgroups meet.
  const Hop& innermost() const;
};

enum class Collective { allgather, reduce_scatter, allreduce, all_to_all, point_to_point };
inline constexpr std::size_t collectives = std::size_t(Collective::point_to_point) + 1;

/// Cost of a collective as a function of the bytes of the *whole* buffer (all_to_all, point_to_point: of one
/// PE's part).
Linear cost(Collective operation, const Path& path);

struct CollectiveText {
  std::string_view name, formula;  // of one level; levels add up
};
const CollectiveText& text_of(Collective operation);

// Flat rings on one link, as in the paper. Every function is zero at p = 1 and linear in m.
Seconds ring_allreduce(double p, Bytes m, Link link);
Seconds ring_allgather(double p, Bytes m, Link link);
Seconds point_to_point(Bytes m, Link link);

}  // namespace paradl
