// Data: every GPU holds the whole model and B/p samples of each mini-batch. Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) {
  const Bytes W = held_weights(c, 1) * c.delta;
  CostLines lines = computation(c, 1, 1, "Table III, Data");
  lines.push_back({Term::gradient_exchange, c.I * ring_allreduce(c.p, W, c.all), "I 2(p-1)(α + W/p β)",
                   "Table III, Data"});
  return lines;
}

Memory memory(const Configuration& c) { return memory_of(c, c.B / c.p, 1, 1); }

}  // namespace

extern constinit const Row data_row{"data", time, memory};

}  // namespace paradl::paper
