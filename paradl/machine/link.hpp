#pragma once
#include "paradl/core/quantity.hpp"
#include "paradl/spec/measured_link.hpp"

namespace paradl {

/// A link by Hockney's model: one message of m bytes takes alpha + m * beta.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
};

/// Alpha and beta of one message in an operation's ring on a group, for buffers from `from` bytes up to, but
/// not including, `below`.
struct MeasuredLink {
  Collective operation = Collective::point_to_point;
  MeasuredGroup group;
  Bytes from, below;
  Link link;
};

}  // namespace paradl
