#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "paradl/judge/explanation.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Whether every stage of a pipeline fits on its device: then there is no plan to show, only the schedule.
bool stages_stay(const Projection& projection);
/// ", stage 2 of 4, all micro-batches in its memory": the stage of a pipeline whose plan is shown; otherwise
/// "".
std::string planned_stage(const Projection& projection);

/// A plan out of core, block by block.
Table plan_table(const OutOfCoreAccount& account);
/// Its share of the host link, and the times of other plans.
std::string plan_text(const OutOfCoreAccount& account);
/// "Out of core: of 20 blocks 8 are kept, ...": of any projection that has such a plan.
std::string out_of_core_text(const Projection& projection, const Machine& machine);
nlohmann::ordered_json plan_json(const Workload& work, const OutOfCoreAccount& account);

}  // namespace paradl
