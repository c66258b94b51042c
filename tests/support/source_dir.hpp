#pragma once
#include <string>

namespace paradl::test {

/// The root of the source tree. A function, so that only one file depends on the path.
std::string source_dir();

}  // namespace paradl::test
