// Data+filter and data+channel: p1 groups of p2 GPUs; a group splits filters (channels) and has B/p1 samples.
// Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) {
  CostLines lines = computation(c, c.p2, c.p2, "Table III, Data+Filter");
  // Each GPU sums only the gradients of the weights it holds, with its peers in the other groups: p2
  // exchanges at once.
  const Bytes W = held_weights(c, c.p2) * c.delta;
  const Link shared{c.ex.alpha, c.phi * c.ex.beta};
  lines.push_back({Term::activation_exchange, c.I * layer_wise(c, c.p2, c.B / c.p1, c.in),
                   "3I(p2-1) Σ_{l<G} (α_in + B|y_l|/p δβ_in)", "Table III, Data+Filter"});
  lines.push_back({Term::gradient_exchange, c.I * ring_allreduce(c.p1, W, shared), "2I(p1-1)(α + W/p φβ)",
                   "Table III, Data+Filter"});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B / c.p1, 1, c.p2); }

}  // namespace

extern constinit const Row data_filter_row{"data+filter", time, memory};
extern constinit const Row data_channel_row{"data+channel", time, memory};

}  // namespace paradl::paper
