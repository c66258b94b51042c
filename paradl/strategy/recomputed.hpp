#pragma once
#include <vector>

#include "paradl/strategy/rules.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// The blocks of a network that can be recomputed: all but those with logits or auxiliary heads.
std::vector<int> recomputable_blocks(const Workload& work);

/// By layer: whether its forward pass runs again before its backward pass.
std::vector<bool> recomputed(const Workload& work, const PlacingRules& rules);

}  // namespace paradl
