#pragma once
#include <string>
#include <utility>
#include <vector>

#include "calibrate/kernels/kernel_fit.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl::calibrate {

/// A device and its libraries that DeepBench has timings for.
struct BenchedDevice {
  std::string name;    // of the file: v100-cuda10
  std::string system;  // its file has the data sheet
  std::string libraries;
  std::vector<std::pair<Precision, BenchSet>> sets;
  bool has_operators = false;  // Aceso's operators and PipeDream's networks were timed on it, too, in fp32
};
const std::vector<BenchedDevice>& benched_devices();

/// The fit of one device and precision.
struct FittedSet {
  Precision precision;
  KernelDevice device;  // with the fitted parameters
  ErrorsByClass in_sample, cross_validated;
  std::vector<std::string> at_bounds;
};
FittedSet fit_set(const DeviceSpec& sheet, Precision precision, const std::vector<KernelTiming>& timings,
                  unsigned seed);

}  // namespace paradl::calibrate
