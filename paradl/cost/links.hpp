#pragma once
#include <array>
#include <memory>
#include <mutex>

#include "paradl/core/memo.hpp"
#include "paradl/cost/message_cost.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/plan/plan.hpp"

namespace paradl {

/// The first hop of a path that the machine's topology describes: 0 if GPUs are its hosts, 1 if nodes are.
int network_hop(const Setting& setting);

/// Whether an allreduce uses trees if they are faster than rings, as in libraries that choose.
bool takes_trees(const Training& training);

/// The sum of gradients over a group, as a job for an algorithm.
Job job_of(const Path& path, const Setting& setting, const Allreduce& allreduce);
/// Whether the requested algorithm can do that job.
bool can_sum(const Path& path, const Setting& setting, const Allreduce& allreduce);

/// How groups of GPUs are spread over the links of a case, and what messages cost there. Slow results (routes
/// on a topology, measured curves, algorithms routed message by message) are cached. Threads may share it.
class Links {
 public:
  explicit Links(const Setting& setting);

  Path group(const Mesh& mesh, AxisSet set) const;
  /// Between neighbours along an axis, or along one extent `dim` that it cuts; -1: the axis as a whole.
  Path neighbours(const Mesh& mesh, int axis, int dim) const;
  MessageCost cost_of(Collective operation, const Path& path) const;
  /// The same on one axis, as the framework sends it: perhaps through the hosts. `by_space`: the axis splits
  /// extents.
  MessageCost axis_cost(Collective operation, bool by_space, const Path& path) const;
  /// The time per byte of a long message to the next stage, if `axis` of the mesh is a pipeline.
  SecondsPerByte stage_pace(const Mesh& mesh, int axis) const;
  /// The cost of the requested algorithm; nullptr: none was requested, or there is nothing to sum.
  const AskedSum* asked_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set,
                            const Path& path) const;
  /// The topology on which such an algorithm is routed; nullptr: it has too many wires.
  const Topology* wires() const;

 private:
  AskedSum find_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set, const Path& path) const;
  const MeasuredCost& measured_cost(Collective operation, const Path& path, bool trees) const;

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
  Memo<std::array<double, 19>, MeasuredCost> measured_costs_;  // by operation and spread of the group
  mutable std::once_flag levels_made_;
  mutable std::shared_ptr<const Topology> levels_;  // as a tree, if no topology is named
};

}  // namespace paradl
