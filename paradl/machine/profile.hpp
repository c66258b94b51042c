#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// Measured times, looked up by shape.
class Profile {
 public:
  explicit Profile(const ProfileSpec& spec);

  const std::string& name() const { return name_; }

  /// The times of exactly this layer. Otherwise, of the same layer with other numbers of samples,
  /// interpolated between the two nearest. Otherwise, with a kernel-time model: of the same layer split
  /// differently (by filters, channels, both or space), or at one other number of samples: the ratio measured
  /// / modelled of the two nearest splits, interpolated, corrects the modelled time of this one. (The time of
  /// a part is never taken as its share of the whole.) Without a model, the time per sample at a single other
  /// number of samples. Nothing if the layer was not measured at all.
  std::optional<PassTimes> find(const LocalLayer& layer, const KernelDevice* model = nullptr) const;

 private:
  struct Point {
    double samples;
    PassTimes time;
  };
  std::optional<PassTimes> corrected(const LocalLayer& layer, const KernelDevice& model) const;

  std::string name_;
  std::map<LocalLayer, std::vector<Point>> points_;  // by the layer with one sample; sorted by samples
};

}  // namespace paradl
