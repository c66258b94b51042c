#pragma once
#include <array>
#include <memory>
#include <mutex>

#include "paradl/core/memo.hpp"
#include "paradl/cost/message_cost.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/plan/plan.hpp"

namespace paradl {

/// The hop of a path that the machine's topology stands for: 0 where GPUs are its hosts, 1 where nodes are.
int network_hop(const Setting& setting);

/// Whether an allreduce takes trees where they are faster than rings, as libraries do that choose.
bool takes_trees(const Training& training);

/// The sum of gradients over a group, as an algorithm is asked for it.
Job job_of(const Path& path, const Setting& setting, const Allreduce& allreduce);
/// Whether the algorithm that was asked for can do it.
bool can_sum(const Path& path, const Setting& setting, const Allreduce& allreduce);

/// How groups of GPUs are spread over the links of a case, and what messages cost there. What takes long to
/// find out (routes on a topology, measured curves, algorithms followed message by message) is kept. Threads
/// may share it.
class Links {
 public:
  explicit Links(const Setting& setting);

  Path group(const Mesh& mesh, AxisSet set) const;
  /// Between neighbours along an axis, or along one extent of its cut; -1: the axis as a whole.
  Path neighbours(const Mesh& mesh, int axis, int dim) const;
  MessageCost cost_of(Collective operation, const Path& path) const;
  /// The same on one axis, as the framework sends it: perhaps by way of the hosts. `by_space`: the axis splits
  /// extents.
  MessageCost axis_cost(Collective operation, bool by_space, const Path& path) const;
  /// What a byte of a long message to the next stage takes, on the pipeline that is axis `axis` of a mesh.
  SecondsPerByte stage_pace(const Mesh& mesh, int axis) const;
  /// What the algorithm that was asked for costs; nullptr: none was, or there is nothing to sum.
  const AskedSum* asked_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set, const Path& path) const;
  /// The wires on which such an algorithm is followed; nullptr: they are too many.
  const Topology* wires() const;

 private:
  AskedSum find_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set, const Path& path) const;
  const Curve& curve_of(Collective operation, const Path& path, bool trees) const;

  const Setting& setting_;
  bool measured_;
  struct SumKey {
    const Algorithm* algorithm;
    double density;
    std::array<int, most_axes + 2> spread;  // see spread_of()
    friend bool operator==(const SumKey&, const SumKey&) = default;
  };
  Memo<std::array<int, 4 * most_axes + 3>, Path> routed_;
  Memo<SumKey, AskedSum> asked_;
  Memo<std::array<double, 19>, Curve> curves_;  // by operation, and how the group is spread
  mutable std::once_flag levels_made_;
  mutable std::shared_ptr<const Topology> levels_;  // as a tree, where no network is named
};

}  // namespace paradl
