#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/local_layer.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// How long the passes of one layer take; zero where it has none.
struct PassTimes {
  Seconds forward, backward_data, backward_weights, update;
  double noise = 0;  // of the pass that varied most: half its median's 95 % interval, divided by the median

  Seconds backward() const { return backward_data + backward_weights; }
};

/// Times that were measured on a device, by shape: profiles/*.yaml.
struct ProfileSpec {
  SourceText source;
  std::string name, model, device, libraries, date;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  struct Entry {
    LocalLayer layer;
    PassTimes time;
  };
  std::vector<Entry> entries;
  /// If only the whole network was measured: forward and backward time per sample at a mini-batch of
  /// `samples` (zero: the model's), and the rates of the roofline that divides that time among the layers on
  /// a device without a kernel-time model.
  struct Total {
    Seconds time;
    double samples;
    FlopRate rate;
    Bandwidth memory_bandwidth;
  };
  std::optional<Total> total = {};
  std::string origin = {};  // where the numbers come from
};

/// Reads a profile. SpecError lists the mistakes in the file.
ProfileSpec read_profile(SourceText source);
/// The text of a profile file; read_profile() returns the same numbers.
std::string profile_text(const ProfileSpec& profile);

/// A layer as one line: "conv 16 x 64x56x56 -> 64x56x56, kernel 3x3".
std::string text_of(const LocalLayer& layer);

}  // namespace paradl
