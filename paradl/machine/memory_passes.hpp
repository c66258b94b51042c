#pragma once
#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// How often a tensor crosses the memory bus.
struct MemoryPasses {
  double forward, backward;
};

/// Passes of attention over the scores, and over y to permute heads.
struct AttentionPasses {
  MemoryPasses softmax, dropout, permute;
};
const AttentionPasses& attention_passes();

/// Times of a layer that is bound by memory: passes * bytes / (stream * W), and one launch for each pass.
PassTimes memory_bound_passes(const KernelDevice& device, const LocalLayer& layer);

}  // namespace paradl
