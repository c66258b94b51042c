#pragma once
#include <string>

namespace paradl::test {

/// The root of the source tree. A function, so that one file alone depends on where the tree lies.
std::string source_dir();

}  // namespace paradl::test
