#pragma once
#include <vector>

#include "calibrate/fit/robust.hpp"

namespace paradl::calibrate {

/// One timing while `flows` (1, 2, ...) flows ran at the same time, each with `bytes`.
struct SharedObservation {
  int flows = 1;
  double bytes = 0, seconds = 0;
};

/// The slowdown phi if `flows` share their route: seconds = alpha + phi(flows) bytes beta.
struct Sharing {
  int flows = 1;
  Estimate phi;
};

struct SharingFit {
  Estimate alpha, beta;      // of one flow alone
  std::vector<Sharing> phi;  // by flows, one alone first: 1 exactly
  Estimate slope;            // of phi = 1 + slope (flows - 1)
  double mean_error = 0;     // |fitted - measured| / measured
  double operator()(int flows) const { return 1 + slope.value * (flows - 1); }
};

/// Fits all numbers of flows together, because they have the same alpha. Needs timings of one flow alone.
SharingFit fit_sharing(const std::vector<SharedObservation>& observations);

}  // namespace paradl::calibrate
