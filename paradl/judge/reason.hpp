#pragma once
#include <string>
#include <string_view>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// Why a limit is broken: "needs 20.7 GiB, the device has 16 GiB", "cannot split into 128 parts: layer conv1
/// has 64 filters".
std::string reason(const Limit& limit, const Workload& work);
/// The same without a network. `layer`: the name of the layer that sets the bound; may be empty.
std::string reason(LimitRule rule, double value, double bound, std::string_view layer = "");
/// The same by the rule's name in JSON, which another version of the program may have written.
std::string reason(std::string_view rule, double value, double bound, std::string_view layer);

/// All reasons why a projection does not fit.
std::string reasons(const Projection& projection, const Workload& work);
/// The same for a footnote under a table that shows memory itself: "needs more than the device's 16.0 GiB".
std::string footnote(const Projection& projection, const Workload& work);

}  // namespace paradl
