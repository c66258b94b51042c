#pragma once
#include <string>
#include <vector>

#include "paradl/cost/accuracy.hpp"

namespace paradl {

/// Two charts side by side: projected against measured times with the diagonal, and the error of each run
/// over the number of GPUs.
std::string validation_svg(const std::vector<Judged>& runs);

}  // namespace paradl
