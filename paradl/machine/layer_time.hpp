#pragma once
#include <memory>
#include <string>
#include <vector>

#include "paradl/machine/kernel_device.hpp"
#include "paradl/machine/machine.hpp"
#include "paradl/machine/profile.hpp"
#include "paradl/spec/update_work.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// The paper's FW_l and BW_l (seconds per sample) and WU_l (seconds per iteration, all weights of the layer).
struct LayerTime {
  Seconds FW, BW, WU;
};

struct LayerTimes {
  std::vector<LayerTime> layer;
  std::string source;   // "roofline", "model file": what the answer says it used
  std::string level{};  // the same in one word: "ideal", "modelled", "profile:NAME", "model file"
  // Times depend on the shapes that are left of a layer. They come from the first of these that has them:
  std::shared_ptr<const Profile> profile{};       // what was measured
  std::shared_ptr<const KernelDevice> kernels{};  // the kernel-time model
  std::shared_ptr<const KernelDevice> shapes{};   // how times of a profile depend on shapes that it lacks
  double correction = 1;     // of the model's passes: a measured total over what the model says of it
  bool update_known = true;  // measured totals of the paper have no weight update in them
};

/// Ideal times of one unsplit layer on one device, a roofline: the longer of arithmetic at the peak rate and
/// of memory traffic. Times that the model file brings take their place unless `heed_file` is false.
/// UsageError if the device has no peak for the precision.
LayerTimes layer_times(const Workload& work, const Machine& machine, Precision precision, Optimizer optimizer,
                       bool heed_file = true, UpdateKernels updates = UpdateKernels::fused);

/// The peak rate of the device in that precision; UsageError if it has none.
FlopRate peak(const Machine& machine, Precision precision);

}  // namespace paradl
