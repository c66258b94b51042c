#pragma once
#include <string>
#include <vector>

#include "calibrate/rehearse/worker.hpp"

namespace paradl::calibrate {

/// The difference between two runs that should give the same result.
struct Difference {
  double largest = 0;  // relative to the largest number of the tensor
  std::string where;   // the tensor with that difference
};

/// Compares a rank's parts of tensors with the whole tensors of a serial run. Throws if the serial run does
/// not have a tensor.
Difference compare(const std::vector<Outcome>& parallel, const std::vector<Outcome>& serial);

/// Sums in another order differ by rounding, a few times 2^-24 of the summands. A wrong halo or a wrong scale
/// gives far larger differences.
inline constexpr double rounding = 1e-3;

}  // namespace paradl::calibrate
