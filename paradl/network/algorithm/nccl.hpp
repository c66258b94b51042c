#pragma once
#include <string>

#include "paradl/network/algorithm.hpp"

namespace paradl {

/// The algorithm and protocol that NCCL chooses for a job, and their time by its own model.
struct NcclChoice {
  std::string_view algorithm;  // ours: "ring" or "double-tree"
  std::string_view protocol;   // "LL", "LL128" or "Simple"
  Seconds time;
};
NcclChoice nccl_choice(const Job& job, const Ways& ways);
std::string text_of(const NcclChoice& choice);  // "ring, Simple"

}  // namespace paradl
