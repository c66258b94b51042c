#pragma once
#include <vector>

#include "calibrate/backend/communicator.hpp"

namespace paradl::calibrate {

/// The load of other processes on the machines of the ranks: the busy time of all cores, as the kernel counts
/// it, minus the core time of the ranks. Zero if the kernel does not report it.
class OtherLoad {
 public:
  /// Starts the measurement. All ranks call it.
  explicit OtherLoad(Communicator& ranks);

  /// The cores that other processes used on average, on the machine with the most. All ranks call it and get
  /// the same result.
  double cores() const;

 private:
  struct Reading {
    double busy = 0, own = 0, wall = 0;  // s
  };
  static Reading read();

  Communicator& ranks_;
  Reading start_;
};

/// The largest difference, over machines, between its busy time and the time of its ranks. Ranks with the
/// same number in `machine` share a machine.
double most_left(const std::vector<double>& machine, const std::vector<double>& busy,
                 const std::vector<double>& own);

}  // namespace paradl::calibrate
