#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl::calibrate {

/// `AMD EPYC 7R13` and `resnet50` -> "amd-epyc-7r13-resnet50"; with what is not usual behind it ("-fp16").
std::string default_profile_name(const std::string& device, const std::string& model, Precision precision,
                                 Optimizer optimizer);

/// Letters in lower case, digits, and single dashes for all else; "(R)" and the like are left out.
std::string plain_word(std::string_view text);

/// What of a profile need not be measured again.
struct Resumed {
  std::vector<ProfileSpec::Entry> kept;  // all that the file has, unless it was measured otherwise
  std::vector<LocalLayer> open;          // shapes that it lacks, or has with too much noise
  std::string why_not;                   // what was otherwise: "on another device (V100)"; "" if nothing
};

/// Compares the file that there is (if any) with what is to be measured now.
Resumed resume(const std::optional<ProfileSpec>& old, const ProfileSpec& now,
               const std::vector<LocalLayer>& shapes, double noise);

/// Both together, in the order of shapes; of a shape that both have the steadier times.
std::vector<ProfileSpec::Entry> merged(const std::vector<ProfileSpec::Entry>& kept,
                                       const std::vector<ProfileSpec::Entry>& measured);

}  // namespace paradl::calibrate
