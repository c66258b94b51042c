#pragma once
#include <optional>

#include "paradl/machine/machine.hpp"
#include "paradl/network/curve.hpp"

namespace paradl {

/// Whether at least one of a machine's links was measured.
bool has_measured_links(const Machine& machine);

/// The operation whose measured links an operation uses on a level: its own, or a similar one. Nothing: it
/// uses the specified link.
std::optional<LinkOperation> taken_from(const Level& level, LinkOperation operation);

/// The path with the links that were measured for this operation and a buffer of m bytes: cost() of it is
/// what it takes. What was measured as a whole, within nodes and between them, is one ring on its outermost
/// level.
///
/// Of groups of several sizes that of the same size serves; else what names no size; else the nearest smaller
/// and the nearest larger one, with alpha and beta of one message on the power law through both. Beyond all
/// of them beta stays, and start-ups of all messages together grow with the logarithm of the group: so they
/// do on nodes of V100 and A100 of which several groups were measured (2 to 8 GPUs: 39 to 92 us). Only those
/// of an allgather, reduce-scatter or all-to-all among more nodes than were measured grow as a ring's do.
/// What more bytes then leave a node (2(N-1)/N of an allreduce's buffer on N nodes, not on those that were
/// measured) pass through its specified ports; within a node, groups that were not measured are no faster
/// than its specified links.
Path measured_path(Collective operation, const Path& path, const Machine& machine, Bytes m);

/// cost() with the links that were measured for this operation and for buffers of that size: a line for each
/// range. Levels and operations that were not measured keep their specified link; allgather, reduce-scatter
/// and allreduce stand in for each other, as all are rings. With `trees` the sums of groups that were not
/// measured as a whole are tree_allreduce()s where that is faster.
Curve measured_cost(Collective operation, const Path& path, const Machine& machine, bool trees = false);

}  // namespace paradl
