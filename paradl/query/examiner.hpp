#pragma once
#include "paradl/judge/bottleneck.hpp"
#include "paradl/query/oracle.hpp"

namespace paradl {

/// The examiner of an oracle's projections, which finds limits and bottlenecks. The oracle's case must
/// outlive it.
Examiner examiner_of(const Oracle& oracle, Triggers triggers = {});

}  // namespace paradl
