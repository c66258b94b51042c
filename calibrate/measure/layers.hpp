#pragma once
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/mesh/mesh.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl::calibrate {

/// The layers that PEs run on these meshes, for a mini-batch of `batch` samples: each shape once.
std::set<LocalLayer> shapes_on(const Workload& work, std::span<const Mesh> meshes, const Training& training,
                               double batch);

/// A layer that is ready to be timed: one turn runs all its passes once, as an iteration does.
class LayerTimer {
 public:
  /// nullptr where the back end cannot run the layer.
  static std::unique_ptr<LayerTimer> make(Device& device, const LocalLayer& layer, Optimizer optimizer);

  void forward(PassTimes& out);
  void backward(PassTimes& out);  // and the update
  PassTimes turn();
  Bytes memory() const;

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

/// Times layers in turns, as in an iteration: all forward, then all backward in reverse, so that each finds
/// the caches as others have left them and not as it did itself. `measured` gets the turns of each layer that
/// the back end can run. `stop` is asked between turns; if it says yes, nothing is measured.
void time_layers(Device& device, std::span<const LocalLayer> layers, Optimizer optimizer, int turns,
                 const std::function<void(const LocalLayer&, const std::vector<PassTimes>&)>& measured,
                 const std::function<bool()>& stop = {});

/// The medians of some turns, pass by pass, and the noise of the least steady pass that matters.
PassTimes median_of(const std::vector<PassTimes>& turns);

/// The mean over ranks of what each has measured, as they take turns in waiting for each other; the largest
/// noise. All ranks call it, and all get the same.
PassTimes mean_over(Communicator& ranks, PassTimes mine);

}  // namespace paradl::calibrate
