#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "tests/support/source_dir.hpp"

namespace paradl::test {

std::string source_dir() { return PARADL_SOURCE_DIR; }

}  // namespace paradl::test
