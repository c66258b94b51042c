#pragma once
#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// How often a tensor crosses the memory bus.
struct MemoryPasses {
  double forward, backward;
};

/// Of attention: over the scores, and over y for the permutations of heads.
struct AttentionPasses {
  MemoryPasses softmax, dropout, permute;
};
const AttentionPasses& attention_passes();

/// Times of a layer that memory bounds: passes * bytes / (stream * W), and one launch each way.
PassTimes memory_bound_passes(const KernelDevice& device, const LocalLayer& layer);

}  // namespace paradl
