#pragma once
#include "paradl/judge/bottleneck.hpp"
#include "paradl/query/oracle.hpp"

namespace paradl {

/// Who looks for limits and bottlenecks of an oracle's projections. The oracle's case must outlive it.
Examiner examiner_of(const Oracle& oracle, Triggers triggers = {});

}  // namespace paradl
