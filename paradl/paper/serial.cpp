// Serial: one GPU does all the work. Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Configuration& c) { return computation(c, 1, 1, "Table III, Serial"); }
Memory memory(const Configuration& c) { return memory_of(c, c.B, 1, 1); }

}  // namespace

extern constinit const Row serial_row{"serial", time, memory};

}  // namespace paradl::paper
