#pragma once
#include <string>
#include <string_view>

#include "paradl/plan/plan.hpp"
#include "paradl/query/case.hpp"

namespace paradl {

/// A plan as one would type it: the grid, then every option that is not at its default, as `key=value`:
/// "data=16,layer=8,tensor=8 batch=1536 micro-batches=96 schedule=1f1b zero=1".
std::string text(const Plan& plan);

/// Reads such a text. Missing options come from the case: the mini-batch from its model, others from its
/// query. UsageError for a word that cannot be read.
Plan parse_plan(std::string_view text, const Case& about);

}  // namespace paradl
