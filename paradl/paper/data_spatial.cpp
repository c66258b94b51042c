// Data+spatial: p1 groups of p2 GPUs; a group splits the extents of its B/p1 samples. Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

/// The table has no such row.
constexpr std::string_view source = "text on Data+Spatial, and the authors' tool";

/// Weights are replicated, so gradients are reduced first inside the node and then between leaders. If groups
/// and their GPUs are connected by the same level, there are no leaders and one ring connects all GPUs.
Seconds gradient_exchange(const Configuration& c, Bytes W) {
  if (c.one_level) return ring_allreduce(c.p, W, c.all);
  return ring_allreduce(c.p2, W, c.in) + ring_allreduce(c.p1, W, c.ex);
}

CostLines time(const Configuration& c) {
  const double b = c.B / c.p1;
  CostLines lines = computation(c, c.p2, 1, source);
  lines.push_back({Term::gradient_exchange, c.I * gradient_exchange(c, held_weights(c, 1) * c.delta),
                   c.one_level ? "I 2(p-1)(α + W/p β)" : "2I[(p2-1)(α_in + W/p2 β_in) + (p1-1)(α + W/p1 β)]",
                   source});
  lines.push_back({Term::halo_exchange, c.I * halos(c, b, c.in),
                   "2I Σ_{K>1} [2α_in + B/p1 (h(x) + h(dy))δβ_in]", source});
  lines.push_back({Term::activation_exchange, c.I * gather_for_rest(c, b, c.in),
                   "2I(p2-1)(α_in + B|y_s|/p δβ_in)", source});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B / c.p1, c.p2, 1); }

}  // namespace

extern constinit const Row data_spatial_row{"data+spatial", time, memory};

}  // namespace paradl::paper
