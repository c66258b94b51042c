#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/judge/explanation.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Term, formula, value per epoch, share and source: from the paper's table, or from the engine.
Table term_table(const Explanation& explanation, const Projection& projection);
/// The same with bars for the shares.
Table with_bars(Table terms);

/// Every collective of one iteration that the placements ask for: which tensor, on which axis, and for each
/// level of links what its formula needs.
Table exchange_table(const Projection& projection, const Explanation& explanation);

/// The same by layer, largest first.
Table layer_table(const Explanation& explanation);

/// D, B, I, p; sums over layers; alpha and beta of the links in use.
std::string symbols_text(const Setting& setting, const Projection& projection,
                         const Explanation& explanation);
std::string memory_text(const Setting& setting, const Projection& projection, bool paper);
/// "80.1 s to 120 s per epoch, typically 95.0 s": with other jobs on the network. Needs `p.congested`.
std::string band_text(const Projection& p);
std::string limits_text(const Projection& projection, const Workload& work);
/// Every limit with its value and bound, and why it does not hold: for plans without times.
Table limits_table(const Projection& projection, const Workload& work);

/// The projection's JSON with `explanation`, `exchanges` and, if asked for, `layers` in each result.
/// `explanations`: of each result; none where it was not priced.
nlohmann::ordered_json explanation_json(const Answer& answer,
                                        const std::vector<std::optional<Explanation>>& explanations);

}  // namespace paradl
