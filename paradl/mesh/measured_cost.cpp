#include "paradl/mesh/measured_cost.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace paradl {
namespace {

/// What may stand in for an operation, the best first.
std::vector<LinkOperation> stand_ins(Collective operation) {
  using enum LinkOperation;
  switch (operation) {
    case Collective::allgather:
      return {allgather, reduce_scatter, allreduce};
    case Collective::reduce_scatter:
      return {reduce_scatter, allreduce, allgather};
    case Collective::allreduce:
      return {allreduce, reduce_scatter, allgather};
    case Collective::all_to_all:
      return {all_to_all, point_to_point};
    case Collective::point_to_point:
      return {point_to_point};
  }
  return {};
}

/// The measured links of a level that serve an operation, by size.
std::vector<MeasuredLink> links_for(Collective operation, const Level& level) {
  for (const LinkOperation wanted : stand_ins(operation)) {
    std::vector<MeasuredLink> out;
    for (const MeasuredLink& m : level.measured)
      if (m.operation == wanted) out.push_back(m);
    if (out.empty()) continue;
    std::ranges::sort(out, {}, &MeasuredLink::from);
    return out;
  }
  return {};
}

/// What a level sees of a ring's buffer is cut by the levels inside it; a message crosses them whole.
bool is_cut(Collective operation) {
  return operation != Collective::all_to_all && operation != Collective::point_to_point;
}

/// The last range that begins at or below a size; the first for what is smaller than all of them.
const Link& link_at(const std::vector<MeasuredLink>& links, Bytes size) {
  const auto next = std::ranges::upper_bound(links, size, {}, &MeasuredLink::from);
  return next == links.begin() ? next->link : std::prev(next)->link;
}

}  // namespace

bool has_measured_links(const Machine& machine) {
  return std::ranges::any_of(machine.levels, [](const Level& level) { return !level.measured.empty(); });
}

Path measured_path(Collective operation, Path path, const Machine& machine, Bytes m) {
  for (int k = 0; k < path.hops; ++k) {
    Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1 || hop.wire >= 0) continue;  // routed: not what was measured
    const auto links = links_for(operation, machine.levels[std::size_t(k)]);
    if (!links.empty()) hop.link = link_at(links, m);
    if (is_cut(operation)) m = m / hop.size;
  }
  return path;
}

Curve measured_cost(Collective operation, const Path& path, const Machine& machine) {
  std::vector<Bytes> borders{Bytes{}};
  double inside = 1;
  for (int k = 0; k < path.hops; ++k) {
    const auto links = links_for(operation, machine.levels[std::size_t(k)]);
    for (std::size_t r = 1; r < links.size(); ++r)
      borders.push_back((is_cut(operation) ? inside : 1) * links[r].from);
    inside *= path.hop[std::size_t(k)].size;
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  Curve curve;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    Curve::Choice choice{.time = cost(operation, measured_path(operation, path, machine, borders[b])),
                         .from = borders[b]};
    if (b + 1 < borders.size()) choice.below = borders[b + 1];
    curve.add(choice);
  }
  return curve;
}

}  // namespace paradl
