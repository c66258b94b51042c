#pragma once
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/fit/measured_system.hpp"
#include "calibrate/measure/layers.hpp"
#include "calibrate/measure/links.hpp"

namespace paradl::calibrate {

/// Times of layers and links, measured in several rounds and averaged over them: each round has its say,
/// whatever speed the machine had in it. All ranks measure at the same time, as they work at the same time.
class Survey {
 public:
  /// `stop` is asked between layers and between links; where one rank says yes, all leave the rest out.
  Survey(Device& device, Communicator& ranks, Optimizer optimizer, std::function<bool()> stop = {})
      : device_(device), ranks_(ranks), optimizer_(optimizer), stop_(std::move(stop)) {}

  /// One round over these layers: some turns of each.
  void measure_layers(const std::set<LocalLayer>& layers, int turns);
  /// One round over the links, up to so many bytes.
  void measure_links(Bytes most, Seconds time);

  ProfileSpec profile() const;
  /// What the slowest rank of a pass takes more than the mean: who exchanges something waits for it.
  Seconds skew() const { return passes_ > 0 ? 1.0 / passes_ * skews_ : Seconds{}; }
  /// Alpha and beta of each level, innermost first, with its size.
  std::vector<MeasuredLevel> levels() const;

 private:
  void note_skew(const PassTimes& mine);

  Device& device_;
  Communicator& ranks_;
  Optimizer optimizer_;
  std::function<bool()> stop_;
  std::map<LocalLayer, std::vector<PassTimes>> layers_;  // by round
  std::vector<LinkPoint> points_;                        // averaged over rounds
  int link_rounds_ = 0;
  Seconds skews_;
  double passes_ = 0;
};

/// Rates of a device, from one copy and one product: what a roofline starts from where nothing was measured.
DeviceSpec measure_device(Device& device, int ranks_per_node);

}  // namespace paradl::calibrate
