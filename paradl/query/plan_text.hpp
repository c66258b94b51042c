#pragma once
#include <string>
#include <string_view>

#include "paradl/plan/plan.hpp"
#include "paradl/query/case.hpp"

namespace paradl {

/// A plan as one would type it: the grid, then every option with the name and the words of its field:
/// "data=16,layer=8 batch=1536 micro-batches=96 schedule=1f1b recompute=none zero=1 sequence-parallel=off
/// allreduce=default". It is complete, so that it reads back as the same plan whatever the case. The grid of
/// one GPU is "1". Out of core, it ends like the name of its strategy: "data=16/ooc".
std::string text(const Plan& plan);

/// Reads such a text. Missing options come from the case: the mini-batch from its model, others from its
/// query. `spatial=4` cuts the first extent, like `spatial=4x1`. UsageError for a word that cannot be read.
Plan parse_plan(std::string_view text, const Case& about);

}  // namespace paradl
