#include "paradl/network/measured_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace paradl {
namespace {

/// Operations whose measured links an operation may use, the best first: its own.
std::vector<Collective> stand_ins(Collective operation) {
  using enum Collective;
  switch (operation) {
    case allgather:
      return {allgather, reduce_scatter, allreduce};
    case reduce_scatter:
      return {reduce_scatter, allreduce, allgather};
    case allreduce:
      return {allreduce, reduce_scatter, allgather};
    case all_to_all:
      return {all_to_all, point_to_point};
    case point_to_point:
      return {point_to_point};
  }
  return {};
}

/// The buffer of a ring is cut by inner levels before it reaches outer ones; a message crosses them whole.
bool is_cut(Collective operation) {
  return operation != Collective::all_to_all && operation != Collective::point_to_point;
}

/// The measurements of one operation on one group, by size of the buffer.
using Series = std::vector<MeasuredLink>;

/// The last range that begins at or below a size; the first one for smaller sizes.
const Link& link_at(const Series& series, Bytes size) {
  const auto next = std::ranges::upper_bound(series, size, {}, &MeasuredLink::from);
  return next == series.begin() ? next->link : std::prev(next)->link;
}

/// Interpolates two measured numbers by the power law through them; there is none if one of them is zero.
double between(double a, double b, double share) {
  return a > 0 && b > 0 ? a * std::pow(b / a, share) : (1 - share) * a + share * b;
}

/// Alpha and beta for a group of a certain size, by buffer size: from one measured group, or interpolated
/// between the next smaller and the next larger one.
struct SizedLink {
  Series smaller, larger = {};
  double share = 0;           // of the way from the smaller group to the larger one, in powers
  bool beyond = false;        // larger or smaller than every group that was measured
  double start_ups = 1;       // of one message, to those of one on the measured group
  double bytes = 1;           // likewise
  SecondsPerByte more = {};   // of beta, for nodes that were not there
  SecondsPerByte least = {};  // of beta

  Link at(Bytes m) const {
    Link link = link_at(smaller, m);
    if (!larger.empty()) {
      const Link& other = link_at(larger, m);
      link = {Seconds{between(link.alpha.base(), other.alpha.base(), share)},
              SecondsPerByte{between(link.beta.base(), other.beta.base(), share)}};
    }
    link.alpha *= start_ups;
    link.beta = std::max(bytes * link.beta + more, least);
    return link;
  }
};

/// What a level has of one operation on the groups that are asked for, the smallest first.
template <class Asked>
std::vector<Series> measured_on(const Level& level, Collective operation, Asked asked) {
  std::vector<Series> out;
  for (const MeasuredLink& link : level.measured) {
    if (link.operation != operation || !asked(link.group)) continue;
    const auto same = [&](const Series& s) { return s.front().group == link.group; };
    auto series = std::ranges::find_if(out, same);
    if (series == out.end()) series = out.insert(out.end(), Series{});
    series->push_back(link);
  }
  for (Series& series : out) std::ranges::sort(series, {}, &MeasuredLink::from);
  std::ranges::sort(out, {}, [](const Series& series) { return series.front().group.gpus; });
  return out;
}
bool is_any(const MeasuredGroup& group) { return group.gpus == 0; }
bool is_named(const MeasuredGroup& group) { return group.gpus > 0; }

/// The links of a group of `gpus`: measured on this size, else without a size, else interpolated between the
/// nearest sizes.
std::optional<SizedLink> sized(const std::vector<Series>& groups, const std::vector<Series>& any, double gpus,
                               bool between_nodes) {
  const auto size = [](const Series& series) { return double(series.front().group.gpus); };
  const auto next = std::ranges::lower_bound(groups, gpus, {}, size);
  if (next != groups.end() && size(*next) == gpus) return SizedLink{.smaller = *next};
  if (!any.empty()) return SizedLink{.smaller = any.front()};
  if (groups.empty()) return {};
  const Series& nearest = next == groups.begin() ? *next : *std::prev(next);
  const double n = size(nearest);
  if (n < gpus && next != groups.end())
    return SizedLink{nearest, *next, std::log(gpus / n) / std::log(size(*next) / n)};
  // The start-ups of all messages together grow with the logarithm of the group. For collectives other than
  // an allreduce libraries have only rings, which matters on many nodes.
  SizedLink out{.smaller = nearest, .beyond = true};
  if (gpus < n || !between_nodes || nearest.front().operation == Collective::allreduce)
    out.start_ups = std::log2(gpus) / std::log2(n) * (n - 1) / (gpus - 1);
  return out;
}

/// The path that is priced, and the links that were measured for its hops.
struct Plan {
  Path path;
  std::array<std::optional<SizedLink>, 8> link = {};
};

/// All hops of a path from `first` on as one ring on its outermost level. Its sister groups share the ports
/// of the nodes; one group alone uses as many ports as it has GPUs in a node.
Path joined(Path path, int first, int last, const Machine& machine) {
  const double per_node = first == 0 ? path.in_node : 1;
  const double sisters = first == 0 ? path.sisters : path.sisters * path.in_node;
  double size = 1;
  for (int k = first; k <= last; ++k) size *= std::exchange(path.hop[std::size_t(k)].size, 1);
  Hop& hop = path.hop[std::size_t(last)];
  hop.size = std::round(size);
  const double ports = machine.levels[1].ports;
  hop.phi = std::max(1.0, sisters * per_node / ports) / std::max(1.0, per_node / ports);
  return path;
}

/// More nodes than were measured: the additional bytes that leave a node pass through its ports.
void add_nodes(SizedLink& link, Collective operation, double gpus, double per_node, const Level& level,
               double ports) {
  const auto sent = [](double parts) {
    return (parts - 1) / parts;
  };  // share of a buffer that one of `parts` sends
  const MeasuredGroup& measured = link.smaller.front().group;
  const double nodes = gpus / per_node;
  if (nodes <= measured.nodes) return;
  const double senders = operation == Collective::all_to_all ? per_node : 1;
  link.bytes = sent(measured.gpus) / sent(gpus);
  link.more = senders * (sent(nodes) - sent(measured.nodes)) / sent(gpus) / std::min(per_node, ports) *
              level.link.beta;
}

int outermost_hop(const Path& path) {
  for (int k = path.hops - 1; k > 0; --k)
    if (path.hop[std::size_t(k)].size > 1) return k;
  return 0;
}

/// A group that spans nodes, if such groups were measured as a whole, or with one GPU per node: its ring
/// between nodes.
std::optional<Plan> spanning(Collective operation, const Path& path, const Machine& machine) {
  const int last = outermost_hop(path);
  if (last == 0 || operation == Collective::point_to_point || path.hop[std::size_t(last)].wire >= 0)
    return {};
  const Level& level = machine.levels[std::size_t(last)];
  for (const Collective wanted : stand_ins(operation)) {
    const auto any = measured_on(level, wanted, is_any);
    for (const int first : {0, 1}) {
      const int per_node = first == 0 ? int(path.in_node) : 1;
      const auto groups = measured_on(
          level, wanted, [&](const MeasuredGroup& g) { return is_named(g) && g.per_node() == per_node; });
      if (groups.empty() || wanted == Collective::point_to_point) continue;
      Plan plan{joined(path, first, last, machine)};
      auto link = sized(groups, any, plan.path.hop[std::size_t(last)].size, true);
      if (link->smaller.front().group.gpus == 0) continue;  // of each level by itself
      if (per_node > 1) {
        if (link->beyond)
          add_nodes(*link, operation, plan.path.hop[std::size_t(last)].size, per_node, level,
                    machine.levels[1].ports);
        if (wanted != operation) link->least = machine.levels[0].link.beta;
      }
      plan.link[std::size_t(last)] = std::move(link);
      return plan;
    }
    if (!any.empty()) return {};
  }
  return {};
}

/// One hop by itself.
std::optional<SizedLink> links_for(Collective operation, const Hop& hop, bool in_node, const Level& level) {
  for (const Collective wanted : stand_ins(operation)) {
    const auto any = measured_on(level, wanted, is_any);
    auto groups = measured_on(level, wanted, is_named);
    // Groups across nodes are handled as a whole above. A message has two ends, whatever the size of its
    // group.
    if (wanted == Collective::point_to_point && !groups.empty()) return SizedLink{groups.front()};
    if (!in_node) groups.clear();
    auto link = sized(groups, any, hop.size, false);
    if (!link) continue;
    // Switches that compute sums make an allreduce faster than its links. Whether they do so for another
    // group is unknown, and operations that use its measurement are limited by the links.
    const bool stands_in = wanted != operation;
    if ((stands_in && is_named(link->smaller.front().group)) || link->beyond) link->least = level.link.beta;
    return link;
  }
  return {};
}

Plan plan_of(Collective operation, const Path& path, const Machine& machine) {
  Plan plan = spanning(operation, path, machine).value_or(Plan{path});
  for (int k = 0; k < path.hops; ++k) {
    const auto i = std::size_t(k);
    const Hop& hop = plan.path.hop[i];
    if (hop.size <= 1 || hop.wire >= 0 || plan.link[i]) continue;  // routed: not what was measured
    plan.link[i] = links_for(operation, hop, k == 0, machine.levels[i]);
  }
  return plan;
}

Path path_of(Collective operation, const Plan& plan, Bytes m) {
  Path path = plan.path;
  for (int k = 0; k < path.hops; ++k) {
    Hop& hop = path.hop[std::size_t(k)];
    if (const auto& link = plan.link[std::size_t(k)]) {
      hop.link = link->at(m);
      hop.measured = true;
      hop.as_group = k > 0 && is_named(link->smaller.front().group);
    }
    if (is_cut(operation)) m = m / hop.subgroups();
  }
  return path;
}

}  // namespace

bool has_measured_links(const Machine& machine) {
  return std::ranges::any_of(machine.levels, [](const Level& level) { return !level.measured.empty(); });
}

std::optional<Collective> taken_from(const Level& level, Collective operation) {
  for (const Collective candidate : stand_ins(operation))
    if (std::ranges::find(level.measured, candidate, &MeasuredLink::operation) != level.measured.end())
      return candidate;
  return {};
}

Path measured_path(Collective operation, const Path& path, const Machine& machine, Bytes m) {
  return path_of(operation, plan_of(operation, path, machine), m);
}

MeasuredCost::MeasuredCost(Collective operation, const Path& path, const Machine& machine, bool trees) {
  const Plan plan = plan_of(operation, path, machine);
  std::vector<Bytes> borders{Bytes{}};
  double inside = 1;
  for (int k = 0; k < path.hops; ++k) {
    if (const auto& link = plan.link[std::size_t(k)])
      for (const Series* series : {&link->smaller, &link->larger})
        for (std::size_t r = 1; r < series->size(); ++r)
          borders.push_back((is_cut(operation) ? inside : 1) * (*series)[r].from);
    inside *= plan.path.hop[std::size_t(k)].subgroups();
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  paths_.reserve(borders.size());
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const Path& measured = paths_.emplace_back(path_of(operation, plan, borders[b]));
    const auto add = [&](const Linear& time, bool by_trees) {
      Curve::Choice choice{.time = time, .from = borders[b]};
      if (b + 1 < borders.size()) choice.below = borders[b + 1];
      time_.add(choice);
      choices_.push_back({int(b), by_trees});
    };
    add(cost(operation, measured), false);
    if (trees && is_by_levels(measured)) add(tree_allreduce(measured), true);
  }
}

}  // namespace paradl
