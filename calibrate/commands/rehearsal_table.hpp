#pragma once
#include <string>
#include <vector>

#include "calibrate/measure/layer_plan.hpp"
#include "calibrate/rehearse/rehearsal.hpp"
#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// A rehearsal in one of the formats.
std::string rehearsal_text(const std::string& format, Style style, const Session& session,
                           const Workload& work, const RehearsalOptions& how, const Rehearsal& rehearsal,
                           int ranks);

/// What would be run.
std::string rehearsal_plan(const Workload& work, const std::vector<Candidate>& candidates,
                           const RehearsalOptions& how, const DeviceFacts& facts, const Rates& rates,
                           int ranks);

}  // namespace paradl::calibrate
