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

/// Times of layers and links, averaged over several rounds, because the speed of the machine changes between
/// rounds. All ranks measure at the same time, as they do in training.
class Survey {
 public:
  /// `stop` is asked between layers and between links; if it returns true on one rank, all ranks stop.
  Survey(Device& device, Communicator& ranks, Optimizer optimizer, std::function<bool()> stop = {})
      : device_(device), ranks_(ranks), optimizer_(optimizer), stop_(std::move(stop)) {}

  /// One round over these layers, with so many turns of each.
  void measure_layers(const std::set<LocalLayer>& layers, int turns);
  /// One round over the links, up to so many bytes.
  void measure_links(Bytes most, Seconds time);

  ProfileSpec profile() const;
  /// The time of the slowest rank in a pass minus the mean over ranks; an exchange waits for that rank.
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

/// Rates of a device from one copy and one matrix product, for the roofline of layers without measurement.
DeviceSpec measure_device(Device& device, int ranks_per_node);

}  // namespace paradl::calibrate
