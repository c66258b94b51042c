#pragma once
#include <vector>

#include "calibrate/backend/communicator.hpp"

namespace paradl::calibrate {

/// What else uses the machines of the ranks: the time that their cores are busy, by the kernel's own count,
/// less what the ranks use of it. Where the kernel does not say, nothing does.
class OtherLoad {
 public:
  /// From now on. All ranks call it.
  explicit OtherLoad(Communicator& ranks);

  /// Cores that others had on average until now, on the machine where they had most. All ranks call it, and
  /// all get the same.
  double cores() const;

 private:
  struct Reading {
    double busy = 0, own = 0, wall = 0;  // s
  };
  static Reading read();

  Communicator& ranks_;
  Reading start_;
};

/// Of ranks on machines that were busy for so long, and that had that much of it themselves: the largest rest
/// of a machine. Ranks with the same number in `machine` are on the same one.
double most_left(const std::vector<double>& machine, const std::vector<double>& busy,
                 const std::vector<double>& own);

}  // namespace paradl::calibrate
