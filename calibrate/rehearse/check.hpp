#pragma once
#include <string>
#include <vector>

#include "calibrate/rehearse/worker.hpp"

namespace paradl::calibrate {

/// How far a run is from another one that should give the same.
struct Difference {
  double largest = 0;  // of any number, over the largest of its tensor
  std::string where;   // the tensor that it is in
};

/// Compares the parts of tensors that a PE has with a serial run's, which has all of them whole. Throws if
/// that one lacks a tensor.
Difference compare(const std::vector<Outcome>& parallel, const std::vector<Outcome>& serial);

/// Sums in another order differ by rounding: some times 2^-24 of the addends. A wrong halo or a wrong scale
/// is far above it.
inline constexpr double rounding = 1e-3;

}  // namespace paradl::calibrate
