#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// Measured times, to be looked up by shape.
class Profile {
 public:
  explicit Profile(const ProfileSpec& spec);

  const std::string& name() const { return name_; }

  /// The times of exactly this layer; else of the same layer with other numbers of samples, along the line
  /// through the two nearest. Else, with a kernel-time model: of the same layer cut otherwise (its filters,
  /// channels, both or space), or at one other number of samples. What was measured there over what the model
  /// says there, between the two nearest cuts, corrects what the model says here: a part of a layer is never
  /// taken to cost its share of the whole. Without a model a single other number of samples says only what a
  /// sample costs. Nothing if the layer was not measured at all.
  std::optional<PassTimes> find(const LocalLayer& layer, const KernelDevice* model = nullptr) const;

 private:
  struct Point {
    double samples;
    PassTimes time;
  };
  std::optional<PassTimes> corrected(const LocalLayer& layer, const KernelDevice& model) const;

  std::string name_;
  std::map<LocalLayer, std::vector<Point>> points_;  // by the layer with one sample; in the order of samples
};

}  // namespace paradl
