#pragma once
#include <set>
#include <span>
#include <vector>

#include "calibrate/communicator.hpp"
#include "calibrate/device.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/mesh/mesh.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl::calibrate {

/// The layers that PEs run on these meshes, for a mini-batch of `batch` samples: each shape once.
std::set<LocalLayer> shapes_on(const Workload& work, std::span<const Mesh> meshes, const Training& training,
                               double batch);

/// A layer that is ready to be timed: one turn runs all its passes as an iteration would, so that each finds
/// in the caches what it would find there, not what it has left there itself.
class LayerTimer {
 public:
  /// nullptr where the back end cannot run the layer.
  static std::unique_ptr<LayerTimer> make(Device& device, const LocalLayer& layer, Optimizer optimizer);

  PassTimes turn();

 private:
  LayerTimer(Device& device, const LocalLayer& layer, Optimizer optimizer, std::unique_ptr<LayerWork> work);

  Device& device_;
  LocalLayer layer_;
  Optimizer optimizer_;
  std::unique_ptr<LayerWork> work_;
  LayerData data_;
  std::vector<Buffer> memory_;
  float *weights_ = nullptr, *gradients_ = nullptr, *state_ = nullptr;
};

/// The medians of some turns, pass by pass, and the noise of the least steady pass that matters.
PassTimes median_of(const std::vector<PassTimes>& turns);

/// The mean over ranks of what each has measured, as they take turns in waiting for each other; the largest
/// noise. All ranks call it, and all get the same.
PassTimes mean_over(Communicator& ranks, PassTimes mine);

}  // namespace paradl::calibrate
