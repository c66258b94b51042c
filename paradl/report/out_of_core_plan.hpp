#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/price_out_of_core.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Whether every stage of a pipeline fits on its device: then there is no plan to show, only the schedule.
bool stages_stay(const Projection& projection);
/// ", stage 2 of 4, all micro-batches in its memory": the stage of a pipeline whose plan is shown; otherwise
/// "".
std::string planned_stage(const Projection& projection);

/// What happens to each block, and how long its passes wait for copies.
struct BlockLine {
  OutOfCoreBlock block;
  std::string layers;  // "conv1", "layer1.0.relu3 to layer1.1.add"
  Fate fate;
  Seconds stall;
};
std::vector<BlockLine> block_lines(const Workload& work, const PricedOutOfCore& priced);

/// The plan of the last projection that was out of core, block by block.
Table plan_table(const Workload& work, const PricedOutOfCore& priced);
/// What it has of the host's link, and what others would take.
std::string plan_text(const PricedOutOfCore& priced);
/// "Out of core: of 20 blocks 8 are kept, ...": of any projection that has such a plan.
std::string out_of_core_text(const Projection& projection, const Machine& machine);
nlohmann::ordered_json plan_json(const Workload& work, const PricedOutOfCore& priced);

}  // namespace paradl
