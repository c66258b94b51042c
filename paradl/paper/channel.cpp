// Channel: every GPU reads some input channels. Forward y_l is summed, backward dL/dx_l gathered. Legend:
// row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) {
  CostLines lines = computation(c, c.p, c.p, "Table III, Channel");
  // The sum of the last layer is left out, as printed (X9 belongs to the engine).
  lines.push_back({Term::activation_exchange, c.I * layer_wise(c, c.p, c.B, c.all),
                   "3I(p-1) Σ_{l<G} (α + B|y_l|/p δβ)", "Table III, Channel"});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B, 1, c.p); }

}  // namespace

extern constinit const Row channel_row{"channel", time, memory};

}  // namespace paradl::paper
