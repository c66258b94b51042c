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

/// The last range that begins at or below a size; the first for what is smaller than all of them.
const Link& link_at(const std::vector<MeasuredLink>& links, Bytes size) {
  const auto next = std::ranges::upper_bound(links, size, {}, &MeasuredLink::from);
  return next == links.begin() ? next->link : std::prev(next)->link;
}

}  // namespace

bool has_measured_links(const Machine& machine) {
  return std::ranges::any_of(machine.levels, [](const Level& level) { return !level.measured.empty(); });
}

Curve measured_cost(Collective operation, const Path& path, const Machine& machine) {
  // What level k sees of a buffer is cut by the levels inside it, except where one message crosses them all.
  const bool rings = operation != Collective::all_to_all && operation != Collective::point_to_point;
  std::array<std::vector<MeasuredLink>, 8> links;
  std::vector<Bytes> borders{Bytes{}};
  double inside = 1;
  for (int k = 0; k < path.hops; ++k) {
    const auto i = std::size_t(k);
    if (path.hop[i].size <= 1 || path.hop[i].wire >= 0) continue;  // routed: not what was measured
    links[i] = links_for(operation, machine.levels[i]);
    for (std::size_t r = 1; r < links[i].size(); ++r)
      borders.push_back((rings ? inside : 1) * links[i][r].from);
    inside *= path.hop[i].size;
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  Curve curve;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    Path here = path;
    double parts = 1;
    for (int k = 0; k < path.hops; ++k) {
      const auto i = std::size_t(k);
      if (!links[i].empty()) here.hop[i].link = link_at(links[i], borders[b] / (rings ? parts : 1));
      parts *= path.hop[i].size;
    }
    Curve::Choice choice{.time = cost(operation, here), .from = borders[b]};
    if (b + 1 < borders.size()) choice.below = borders[b + 1];
    curve.add(choice);
  }
  return curve;
}

}  // namespace paradl
