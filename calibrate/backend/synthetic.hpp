#pragma once
#include <cstdint>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// Synthetic values that depend only on their tensor and on their position in the whole tensor, so that every
/// rank can generate its own part.
struct Synthetic {
  std::uint64_t seed = 0;
  double mean = 0, spread = 1;  // uniform between mean - spread and mean + spread
  double integers = 0;          // if not zero: integers from 0 to this instead

  float at(std::uint64_t index) const;
};

/// Fills a piece of a tensor whose whole is `whole`.
void fill(Device& device, const Piece& piece, const Box& whole, const Synthetic& values);

}  // namespace paradl::calibrate
