#include "paradl/mesh/routed.hpp"

#include <algorithm>
#include <numeric>

#include "paradl/network/reach.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {
namespace {

/// Sets the longest latency, the slowest wire and the contention of flows that start together. GPU r is host
/// r.
template <class Target>
Hop send_all(Hop hop, int gpus, const Topology& topology, Target target_of) {
  Schedule flows;
  flows.ranks = gpus;
  flows.begin();
  for (int r = 0; r < gpus; ++r)
    if (const int to = target_of(r); to != r) flows.add({.source = r, .target = to, .bytes = Bytes{1e6}});
  if (flows.flows.empty()) return hop;
  std::vector<int> seats(std::size_t(gpus), 0);
  std::iota(seats.begin(), seats.end(), 0);
  Reach reach;
  for (const Flow& flow : flows.flows) reach.add(topology, flow.source, flow.target);
  hop.link = reach.link();
  const Timing load = link_load(flows, topology, seats);
  hop.phi = load.phi;
  hop.wire = load.wire;
  return hop;
}

/// The index of GPU r in its group along the axes of `set`.
int place_in_group(int r, const Mesh& mesh, AxisSet set) {
  int place = 0, size = 1;
  for (int a = mesh.axes - 1; a >= 0; --a) {
    const int n = mesh.axis[std::size_t(a)].parts.total;
    if (set & axis_bit(a)) {
      place += r / int(mesh.stride(a)) % n * size;
      size *= n;
    }
  }
  return place;
}

}  // namespace

std::vector<int> member_offsets(const Mesh& mesh, AxisSet set) {
  std::vector<int> out{0};
  for (int a = mesh.axes - 1; a >= 0; --a) {
    if (!(set & axis_bit(a))) continue;
    const int n = mesh.axis[std::size_t(a)].parts.total, stride = int(mesh.stride(a));
    std::vector<int> more;
    for (int k = 0; k < n; ++k)
      for (const int offset : out) more.push_back(offset + k * stride);
    out = std::move(more);
  }
  return out;
}

Path route_groups(Path path, const Mesh& mesh, AxisSet set, const Topology& topology, int first) {
  const std::vector<int> member = member_offsets(mesh, set);
  int inside = 1;
  for (int k = 0; k < path.hops; ++k) {
    Hop& hop = path.hop[std::size_t(k)];
    if (k >= first && hop.size > 1)
      hop = send_all(hop, int(mesh.gpus()), topology, [&](int r) {
        // A ring around the subgroups of one block; the last block may be less full.
        const int place = place_in_group(r, mesh, set), block = inside * int(hop.subgroups());
        const int begin = place / block * block, end = std::min(begin + block, int(member.size()));
        const int next = place + inside < end ? place + inside : begin + (place - begin) % inside;
        return r - member[std::size_t(place)] + member[std::size_t(next)];
      });
    inside *= int(hop.subgroups());
  }
  return path;
}

Path route_neighbours(Path path, const Mesh& mesh, int axis, int dim, const Topology& topology, int first) {
  const Parts& parts = mesh.axis[std::size_t(axis)].parts;
  int n = parts.total, stride = int(mesh.stride(axis));
  if (dim >= 0) {
    n = parts.cut[std::size_t(dim)];
    for (std::size_t later = std::size_t(dim) + 1; later < 3; ++later) stride *= parts.cut[later];
  }
  if (path.hops <= first) return path;
  Hop& hop = path.hop[std::size_t(path.hops - 1)];
  if (hop.size > 1)
    hop = send_all(hop, int(mesh.gpus()), topology,
                   [&](int r) { return r / stride % n == n - 1 ? r : r + stride; });
  return path;
}

}  // namespace paradl
