#pragma once
#include <cstdint>

namespace paradl {

/// How a tensor is placed on one axis of the mesh.
enum class Placement : std::uint8_t {
  replicated,     // every GPU has all of it
  split_sample,   // each has some samples
  split_space,    // each has a part of the extents
  split_channel,  // each has some channels
  split_expert,   // each has the tokens that go through its experts
  partial,        // each has an addend of the full size; their sum is still to be made
};

constexpr bool is_split(Placement p) {
  return p == Placement::split_sample || p == Placement::split_space || p == Placement::split_channel ||
         p == Placement::split_expert;
}

}  // namespace paradl
