#pragma once
#include <string>
#include <vector>

#include "paradl/cost/accuracy.hpp"

namespace paradl {

/// Two charts: projected and measured times with the diagonal, and the error of each run by number of GPUs.
std::string validation_svg(const std::vector<Judged>& runs);

}  // namespace paradl
