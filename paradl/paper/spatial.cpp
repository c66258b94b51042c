// Spatial: every GPU has a part of the extents of all B samples and exchanges halos. Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) {
  const Bytes W = held_weights(c, 1) * c.delta;
  CostLines lines = computation(c, c.p, 1, "Table III, Spatial");
  lines.push_back({Term::gradient_exchange, c.I * ring_allreduce(c.p, W, c.all), "I 2(p-1)(α + W/p β)",
                   "Table III, Spatial"});
  // The printed table has B halo() with the halo of a batch; here a halo is that of one sample (X7).
  lines.push_back({Term::halo_exchange, c.I * halos(c, c.B, c.all), "2I Σ_{K>1} [2α + B(h(x) + h(dy))δβ]",
                   "Table III, Spatial"});
  lines.push_back({Term::activation_exchange, c.I * gather_for_rest(c, c.B, c.all),
                   "2I(p-1)(α + B|y_s|/p δβ)", "text on Spatial, and the authors' tool"});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B, c.p, 1); }

}  // namespace

extern constinit const Row spatial_row{"spatial", time, memory};

}  // namespace paradl::paper
