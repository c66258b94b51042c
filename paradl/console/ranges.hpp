#pragma once
#include <string_view>
#include <vector>

#include "paradl/query/words.hpp"

namespace paradl {

/// Numbers of GPUs as `read_gpu_counts` reads them, each once. UsageError, also for more GPUs than the
/// machine has.
inline std::vector<int> read_gpus(std::string_view text, const Machine& machine) {
  return gpus_of(read_gpu_counts(text), machine);
}

}  // namespace paradl
