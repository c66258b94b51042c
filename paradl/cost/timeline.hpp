#pragma once
#include <vector>

#include "paradl/mesh/pipeline.hpp"

namespace paradl {

/// The executed schedule of a pipeline, before gradients are summed.
struct Timeline {
  Pipeline pipeline;
  std::vector<std::vector<PipelineEvent>> passes;  // of each stage
};

}  // namespace paradl
