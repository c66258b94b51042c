#pragma once
#include <memory>
#include <string>
#include <vector>

#include "paradl/machine/kernel_device.hpp"
#include "paradl/machine/machine.hpp"
#include "paradl/machine/profile.hpp"
#include "paradl/spec/layer_source.hpp"
#include "paradl/spec/update_work.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// The paper's FW_l and BW_l (seconds per sample) and WU_l (seconds per iteration, all weights of the layer).
struct LayerTime {
  Seconds FW, BW, WU;
};

struct LayerTimes {
  std::vector<LayerTime> layer;
  std::string source;  // as printed: "roofline", "model file"
  LayerSource level = LayerSource::ideal;
  std::string profile_name{};  // of the profile that they come from
  // Times depend on the shapes of the split layer. They come from the first of these that has them:
  std::shared_ptr<const Profile> profile{};       // measured times
  std::shared_ptr<const KernelDevice> kernels{};  // the kernel-time model
  std::shared_ptr<const KernelDevice> shapes{};   // the model that extends a profile to other shapes
  double correction = 1;                          // of the model's passes: measured total / modelled total
  bool update_known = true;  // the paper's measured totals do not include the weight update
};

/// The source of layer times as a key: "ideal", "modelled", "profile:NAME", "model file".
std::string source_key(const LayerTimes& times);

/// Ideal times of unsplit layers on one device, by a roofline: the longer of arithmetic at the peak rate and
/// memory traffic. Times in the model file replace them unless `use_file_times` is false. UsageError if the
/// device has no peak for the precision.
LayerTimes layer_times(const Workload& work, const Machine& machine, Precision precision, Optimizer optimizer,
                       bool use_file_times = true, UpdateKernels updates = UpdateKernels::fused);

/// The peak rate of the device in that precision; UsageError if it has none.
FlopRate peak(const Machine& machine, Precision precision);

}  // namespace paradl
