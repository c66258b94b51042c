// Serial: one GPU does all the work. Legend: row.hpp.
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

CostLines time(const Case& c) { return computation(c, 1, 1, "Table III, Serial"); }
Memory memory(const Case& c) { return memory_of(c, c.B, 1, 1); }

}  // namespace

extern constinit const Row serial_row{"serial", time, memory};

}  // namespace paradl::paper
