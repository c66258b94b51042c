#pragma once
#include <span>
#include <vector>

namespace paradl {

/// Cuts a chain of layers into `stages` parts of consecutive layers so that the longest part is as short as
/// can be. Returns the first layer of each stage. Needs stages <= weight.size().
std::vector<int> balanced_partition(std::span<const double> weight, int stages);

}  // namespace paradl
