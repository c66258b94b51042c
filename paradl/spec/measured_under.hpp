#pragma once
#include <string>

namespace paradl {

struct ProfileSpec;

/// The framework under which a profile was measured; empty: none. It decides which profile fits a question,
/// but no cost depends on it.
std::string measured_under(const ProfileSpec& profile);

}  // namespace paradl
