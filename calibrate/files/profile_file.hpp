#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl::calibrate {

/// `AMD EPYC 7R13` and `resnet50` -> "amd-epyc-7r13-resnet50", followed by what is not the default ("-fp16").
std::string default_profile_name(const std::string& device, const std::string& model, Precision precision,
                                 Optimizer optimizer);

/// Lower-case letters, digits, and single dashes for everything else; "(R)" and "(TM)" are left out.
std::string plain_word(std::string_view text);

/// The parts of a profile that need not be measured again.
struct Resumed {
  std::vector<ProfileSpec::Entry> kept;  // all entries of the file, unless its conditions differ
  std::vector<LocalLayer> open;          // shapes that are missing or too noisy
  std::string why_not;                   // the different condition: "on another device (V100)"; empty if none
};

/// Compares the existing file, if any, with what is to be measured now.
Resumed resume(const std::optional<ProfileSpec>& old, const ProfileSpec& now,
               const std::vector<LocalLayer>& shapes, double noise);

/// Both together, in the order of shapes; if both have a shape, the less noisy times.
std::vector<ProfileSpec::Entry> merged(const std::vector<ProfileSpec::Entry>& kept,
                                       const std::vector<ProfileSpec::Entry>& measured);

}  // namespace paradl::calibrate
