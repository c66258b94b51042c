#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// Measured times, to be looked up by shape.
class Profile {
 public:
  explicit Profile(const ProfileSpec& spec);

  const std::string& name() const { return name_; }

  /// The times of exactly this layer; else of the same layer with other numbers of samples, along the line
  /// through the two nearest. A single other number says only what a sample costs there. Nothing if the layer
  /// was not measured at all.
  std::optional<PassTimes> find(const LocalLayer& layer) const;

 private:
  struct Point {
    double samples;
    PassTimes time;
  };
  std::string name_;
  std::map<LocalLayer, std::vector<Point>> points_;  // by the layer with one sample; in the order of samples
};

}  // namespace paradl
