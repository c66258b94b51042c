#include "paradl/network/collective.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {

// Symbols in this file
//   p      GPUs taking part         m     bytes of the whole buffer (not a GPU's share)
//   alpha  start-up per message     beta  seconds per byte      phi  flows that share a port

/// Reduce-scatter, then allgather, around a ring: 2(p-1) steps of m/p bytes.
Seconds ring_allreduce(double p, Bytes m, Link link) {
  const auto [alpha, beta] = link;
  return 2.0 * (p - 1) * (alpha + m / p * beta);
}

/// p-1 steps; each GPU forwards one share of m/p bytes per step. Reduce-scatter costs the same.
Seconds ring_allgather(double p, Bytes m, Link link) {
  const auto [alpha, beta] = link;
  return (p - 1) * (alpha + m / p * beta);
}

Seconds point_to_point(Bytes m, Link link) { return link.alpha + m * link.beta; }

double Hop::subgroups() const {
  constexpr double rounding = 1e-9;
  return std::ceil(size * (1 - rounding));
}

double Path::size() const {
  double p = 1;
  for (int k = 0; k < hops; ++k) p *= hop[std::size_t(k)].size;
  return std::round(p);
}

const Hop& Path::outermost() const {
  for (int k = hops - 1; k > 0; --k)
    if (hop[std::size_t(k)].size > 1) return hop[std::size_t(k)];
  return hop[0];
}

const Hop& Path::innermost() const {
  for (int k = 0; k < hops; ++k)
    if (hop[std::size_t(k)].size > 1) return hop[std::size_t(k)];
  return hop[0];
}

namespace {

/// A ring on every level. Reduce-scatter goes from the inside out and allgather back, so that what level k
/// passes on is already cut by the levels inside it: (c_k - 1)(alpha_k + m/(c_0 ... c_k) phi beta_k).
Linear ring_of_rings(const Path& path) {
  Linear sum;
  double parts = 1;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    parts *= hop.subgroups();
    const double steps = hop.subgroups() - 1;
    sum.fixed += steps * hop.link.alpha;
    sum.per_byte += steps / parts * hop.phi * hop.link.beta;
  }
  return sum;
}

}  // namespace

Linear cost(Collective operation, const Path& path) {
  const Hop& last = path.outermost();
  const double p = path.size();
  switch (operation) {
    case Collective::allgather:
    case Collective::reduce_scatter:
      return ring_of_rings(path);
    case Collective::allreduce:
      return 2.0 * ring_of_rings(path);
    // Every GPU sends p-1 messages of its p-th part, at the pace of the slowest link.
    case Collective::all_to_all:
      return {(p - 1) * last.link.alpha, (p - 1) / p * last.phi * last.link.beta};
    case Collective::point_to_point:
      return {last.link.alpha, last.phi * last.link.beta};
  }
  return {};
}

bool is_by_levels(const Path& path) { return std::ranges::none_of(path.hop, &Hop::as_group); }

Linear tree_allreduce(const Path& path) {
  Path node = path;
  node.hops = std::min(path.hops, 1);
  Linear sum = cost(Collective::allreduce, node);
  for (int k = 1; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    const double rounds = 2 * std::ceil(std::log2(hop.subgroups()));
    sum.fixed += rounds * hop.link.alpha;
    sum.per_byte += rounds / path.hop[0].subgroups() * hop.phi * hop.link.beta;
  }
  return sum;
}

std::string_view formula_of(Collective operation) {
  switch (operation) {
    case Collective::allgather:
    case Collective::reduce_scatter:
      return "(p-1)(α + m/p φ β)";
    case Collective::allreduce:
      return "2(p-1)(α + m/p φ β)";
    case Collective::all_to_all:
      return "(p-1)α + m(p-1)/p φ β";
    case Collective::point_to_point:
      return "α + m φ β";
  }
  return {};
}

}  // namespace paradl
