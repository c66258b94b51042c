#pragma once
#include <string>

#include "paradl/cost/planner.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Term, formula, value per epoch, share and a bar: from the paper's table, or from the engine.
Table explain_paper(const Setting& setting, const Projection& projection);
Table explain_engine(const Setting& setting, const Projection& projection);

/// Every collective of one iteration that the placements ask for: which tensor, on which axis, bytes, time,
/// phi.
Table exchange_table(const Setting& setting, const Projection& projection, const Layout& layout,
                     const StagePlan& plan, const Pricer& pricer);

/// The same by layer, largest first.
Table layer_table(const Setting& setting, const Projection& projection, const Layout& layout,
                  const Pricer& pricer);

/// D, B, I, p; sums over layers; alpha and beta of the links in use.
std::string symbols_text(const Setting& setting, const Projection& projection);
std::string memory_text(const Setting& setting, const Projection& projection, bool paper);
std::string limits_text(const Projection& projection, const Workload& work);

/// The projection's JSON with `terms` and `exchanges` in each result.
std::string explanation_json(const Answer& answer, bool paper, Planner& planner);

}  // namespace paradl
