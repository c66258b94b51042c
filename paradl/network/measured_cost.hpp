#pragma once
#include <optional>
#include <vector>

#include "paradl/machine/machine.hpp"
#include "paradl/network/curve.hpp"

namespace paradl {

/// Whether at least one of a machine's links was measured.
bool has_measured_links(const Machine& machine);

/// The operation whose measured links an operation uses on a level: its own, or a similar one. Nothing: it
/// uses the specified link.
std::optional<Collective> taken_from(const Level& level, Collective operation);

/// The path with the links that were measured for this operation and a buffer of m bytes, as input of cost().
/// A group that was measured as a whole, within nodes and between them, is one ring on its outermost level.
///
/// The links come from the measured group of the same size; else from measurements without a size; else from
/// the next smaller and the next larger group, with alpha and beta of one message on the power law through
/// both. Beyond all measured groups beta stays the same, and the start-ups of all messages together grow with
/// the logarithm of the group, as measured on nodes of V100 and A100 (2 to 8 GPUs: 39 to 92 us). Only for an
/// allgather, reduce-scatter or all-to-all among more nodes than were measured they grow as in a ring. The
/// additional bytes that leave a node (2(N-1)/N of an allreduce's buffer on N nodes, more than on the
/// measured ones) pass through its specified ports. Within a node, groups that were not measured are not
/// faster than the specified links.
Path measured_path(Collective operation, const Path& path, const Machine& machine, Bytes m);

/// cost() with the links that were measured for this operation and for buffers of that size: a line for each
/// range. Levels and operations that were not measured keep their specified link; allgather, reduce-scatter
/// and allreduce may use each other's links, because all are rings. With `trees` an allreduce of a group that
/// was not measured as a whole is a tree_allreduce() if that is faster.
class MeasuredCost {
 public:
  MeasuredCost(Collective operation, const Path& path, const Machine& machine, bool trees = false);
  Seconds operator()(Bytes m) const { return time_(m); }
  /// measured_path() for m bytes.
  const Path& path(Bytes m) const { return paths_[std::size_t(chosen(m).path)]; }
  bool takes_trees(Bytes m) const { return chosen(m).trees; }

 private:
  struct Chosen {
    int path;
    bool trees;
  };
  const Chosen& chosen(Bytes m) const { return choices_[std::size_t(time_.best(m))]; }

  Curve time_;
  std::vector<Chosen> choices_;  // of each choice of the curve
  std::vector<Path> paths_;      // of each range of sizes
};

}  // namespace paradl
