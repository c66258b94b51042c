#pragma once
#include "paradl/cost/accuracy.hpp"

namespace paradl::test {

/// A run as `paradl validate` would judge it.
inline Judged run(const char* strategy, int gpus, double measured, double projected, double batch = 64) {
  return {.model = "m",
          .system = "s",
          .strategy = strategy,
          .gpus = gpus,
          .batch = batch,
          .measured = Seconds{measured},
          .projected = Seconds{projected}};
}

}  // namespace paradl::test
