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

/// The layers that ranks run if a plan has these meshes: each shape once.
std::set<LocalLayer> shapes_on(const Workload& work, std::span<const Mesh> meshes, const Training& training,
                               const Plan& plan);

/// A layer that is ready to be timed. One turn runs all its passes once, as an iteration does.
class LayerTimer {
 public:
  /// nullptr if the back end cannot run the layer.
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

/// Times layers in turns, as in an iteration: all forward, then all backward in reverse order, so that each
/// layer finds the caches as other layers left them. `measured` gets the turns of each layer that the back
/// end can run. `stop` is asked between turns; if it returns true, nothing is measured.
void time_layers(Device& device, std::span<const LocalLayer> layers, Optimizer optimizer, int turns,
                 const std::function<void(const LocalLayer&, const std::vector<PassTimes>&)>& measured,
                 const std::function<bool()>& stop = {});

/// The median of the turns for each pass, and the highest noise of a pass that takes a relevant share.
PassTimes median_of(const std::vector<PassTimes>& turns);

/// The mean over ranks, because they wait for each other in turn, and the largest noise. All ranks call it
/// and get the same result.
PassTimes mean_over(Communicator& ranks, PassTimes mine);

}  // namespace paradl::calibrate
