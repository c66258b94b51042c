#pragma once
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/report/table.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// The shapes of a profile that take longest, at most `most`.
Table slowest_shapes(const std::vector<ProfileSpec::Entry>& entries, std::size_t most);

/// The properties of a profile, and its shapes as `layers`: the fields of paradl.profile/1.
nlohmann::ordered_json profile_json(const ProfileSpec& profile);

}  // namespace paradl
