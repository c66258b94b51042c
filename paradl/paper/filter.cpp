// Filter: every GPU computes some output channels. Forward y_l is gathered, backward dL/dx_l summed. Legend:
// row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) {
  CostLines lines = computation(c, c.p, c.p, "Table III, Filter");
  lines.push_back({Term::activation_exchange, c.I * layer_wise(c, c.p, c.B, c.all),
                   "3I(p-1) Σ_{l<G} (α + B|y_l|/p δβ)", "Table III, Filter"});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B, 1, c.p); }

}  // namespace

extern constinit const Row filter_row{"filter", time, memory};

}  // namespace paradl::paper
