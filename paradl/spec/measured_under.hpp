#pragma once
#include <string>

namespace paradl {

struct ProfileSpec;

/// The framework whose runs a profile was measured in; empty: under none. Which profile fits a question
/// depends on it, no price does.
std::string measured_under(const ProfileSpec& profile);

}  // namespace paradl
