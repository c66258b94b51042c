// Which GPUs sum which gradients, and what that costs under a framework.
#include <algorithm>
#include <bit>
#include <cassert>

#include "paradl/cost/mesh_table.hpp"
#include "paradl/network/measured_cost.hpp"

namespace paradl {
namespace {

/// Links are measured at this size: gradients travel in one large buffer.
constexpr Bytes large{1e8};

/// GPUs of a node along one axis, whose neighbours are `stride` GPUs apart.
double parts_in_node(const Machine& machine, const Axis& axis, double stride) {
  return std::clamp(machine.gpus_per_node() / stride, 1.0, double(axis.parts.total));
}

/// The number of parts on the GPUs of a node, over all axes in `set` (`inside`), or over all others.
double parts_in_node(const MeshTable& t, AxisSet set, bool inside) {
  double out = 1, stride = 1;
  for (int a = t.mesh.axes - 1; a >= 0; --a) {
    const Axis& axis = t.mesh.axis[std::size_t(a)];
    if (bool(set & axis_bit(a)) == inside) out *= parts_in_node(t.setting.machine, axis, stride);
    stride *= axis.parts.total;
  }
  return out;
}

/// The number of different parts of such a gradient in a node: 4 if four GPUs of the node split filters.
double different_in_node(const MeshTable& t, const Layout::Gradients& kind) {
  return parts_in_node(t, kind.summed | kind.alike, false);
}

/// The gradients of a node are reduced to its leader, summed around a ring of leaders, and broadcast:
/// 2 W/B_node + 2(n-1)(alpha + W/n beta), where W counts every different gradient in the node. One leader
/// uses one port. Each GPU packs its own gradients for the sum in the node; the leader packs all different
/// ones for the sum between leaders.
MessageCost leader_cost(const MeshTable& t, const Layout::Gradients& kind, const Path& path) {
  const Training& training = t.setting.training;
  const Machine& machine = t.setting.machine;
  if (path.size() <= 1) return {};
  const double members = parts_in_node(t, kind.summed, true);  // of the group, in one node
  const double n = std::max(1.0, path.size() / members);
  const double different = different_in_node(t, kind);
  const Path measured = measured_path(Collective::allreduce, path, machine, large);
  Link between = measured.outermost().link;
  if (training.transport == Transport::host) between = staged_message(machine, between);
  Path node;
  node.hops = 1;
  node.hop[0] = {.size = 2, .link = machine.levels.front().link};
  const Link within = measured_path(Collective::allreduce, node, machine, large).hop[0].link;
  const Linear sum{2 * (n - 1) * between.alpha, 2 * within.beta + 2 * (n - 1) / n * between.beta};
  return {{sum.fixed, different * sum.per_byte}, nullptr, (1 + different) * training.framework.packing};
}

MessageCost allreduce_cost(const Links& links, const Setting& setting, const Path& path) {
  MessageCost out = links.cost_of(Collective::allreduce, path);
  if (path.size() <= 1) return out;
  out.copies = setting.training.framework.packing;
  if (setting.training.transport == Transport::host) out.copies += 2 * staged_copy(setting.machine);
  return out;
}

/// One ring through all GPUs of a group that leaves each node through one of its ports. Of the hops of a
/// message, one per node crosses a link between nodes; all others stay inside a node.
Path one_port(const Mesh& mesh, AxisSet set, const Machine& machine) {
  const double inside = group_path(mesh, set, machine).hop[0].size;
  Path path = flat_path(mesh, set, machine);
  for (int k = 0; k < path.hops; ++k) {
    Hop& hop = path.hop[std::size_t(k)];
    hop.phi = std::max(1.0, hop.phi);
    if (k > 0)
      hop.link.alpha = (hop.link.alpha + (inside - 1) * machine.levels.front().link.alpha) / inside;
  }
  return path;
}

/// How a group is spread over the links; known already if it is that of a single axis.
Path path_of(const Links& links, const MeshTable& mesh, AxisSet set) {
  if (std::has_single_bit(set)) return mesh.axis_path[std::size_t(std::countr_zero(set))];
  return links.group(mesh.mesh, set);
}

}  // namespace

bool gathers_by_tensor(const Training& training, int zero) {
  return zero == 3 && training.framework.gathers_by_tensor;
}

GradientTable::GradientTable(const Links& links, const Layout& layout, const MeshTable& mesh, int zero,
                             const Allreduce& allreduce, std::pmr::memory_resource* memory)
    : groups(memory) {
  const Setting& setting = mesh.setting;
  const Training& training = setting.training;
  leaders = training.framework.hybrid_gradients == GradientRoute::leader && mesh.mesh.axes > 1;
  groups.reserve(layout.gradients.size());
  assert(layout.gradients.size() <= most_gradient_groups);

  // A reduce-scatter has no leader: each GPU keeps its own part. Gradients are packed in any case.
  const auto scattered = [&](AxisSet set, const Path& path) {
    GradientGroup out{.set = set, .path = path, .asked = links.asked_sum(allreduce, mesh.mesh, set, path)};
    out.sum = links.axis_cost(Collective::reduce_scatter, false, path);
    if (path.size() > 1) out.sum.copies += training.framework.packing;
    out.gather = gathers_by_tensor(training, zero)
                     ? MessageCost{cost(Collective::allgather, one_port(mesh.mesh, set, setting.machine))}
                     : links.axis_cost(Collective::allgather, false, path);
    return out;
  };
  const auto whole = [&](const Layout::Gradients& kind, AxisSet set, const Path& path) {
    GradientGroup out{.set = set, .path = path, .asked = links.asked_sum(allreduce, mesh.mesh, set, path)};
    out.sum = leaders ? leader_cost(mesh, kind, path) : allreduce_cost(links, setting, path);
    if (leaders) out.packs = 1 + different_in_node(mesh, kind);
    return out;
  };

  for (const Layout::Gradients& kind : layout.gradients) {
    const Path path = path_of(links, mesh, kind.summed);
    GradientGroup chosen = zero > 0 ? scattered(kind.summed, path) : whole(kind, kind.summed, path);
    if (zero == 0 && training.wide_sums && !leaders && mesh.parts[kind.alike] > 1 &&
        mesh.parts[kind.summed] > 1) {
      const auto wider = AxisSet(kind.summed | kind.alike);
      if (const Path all = path_of(links, mesh, wider); can_sum(all, setting, allreduce)) {
        const GradientGroup other = whole(kind, wider, all);
        if (other.allreduce(training.bucket) < chosen.allreduce(training.bucket)) chosen = other;
      }
    }
    if (training.synchronised_batch_norm)
      chosen.statistics = links.cost_of(Collective::allreduce, chosen.path);
    sends |= chosen.path.size() > 1;
    groups.push_back(chosen);
  }
}

}  // namespace paradl
