#pragma once
#include <cstddef>

namespace paradl::test {

/// How often this thread has allocated memory with `new` so far.
std::size_t allocations();

}  // namespace paradl::test
