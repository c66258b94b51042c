#pragma once
#include <cstdint>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// Made-up numbers that depend only on what they stand for and on their place in the whole tensor, so that
/// every PE makes its own part and all parts fit together.
struct Synthetic {
  std::uint64_t seed = 0;
  double mean = 0, spread = 1;  // even between mean - spread and mean + spread
  double integers = 0;          // whole numbers from 0 up to this one instead, if it is not zero

  float at(std::uint64_t index) const;
};

/// Fills a piece of a tensor whose whole is `whole`.
void fill(Device& device, const Piece& piece, const Box& whole, const Synthetic& values);

}  // namespace paradl::calibrate
