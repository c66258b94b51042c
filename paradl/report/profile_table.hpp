#pragma once
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/report/table.hpp"
#include "paradl/spec/profile_spec.hpp"

namespace paradl {

/// The shapes of a profile that take longest, at most so many.
Table slowest_shapes(const std::vector<ProfileSpec::Entry>& entries, std::size_t most);

/// What a profile says of itself, and its shapes as `layers`: the fields of paradl.profile/1.
nlohmann::ordered_json profile_json(const ProfileSpec& profile);

}  // namespace paradl
