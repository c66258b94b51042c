#pragma once
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/evaluator.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Term, formula, value per epoch, share and source: from the paper's table, or from the engine.
Table explain_paper(const Setting& setting, const Projection& projection);
Table explain_engine(const Setting& setting, const Projection& projection);
/// The same with bars for the shares.
Table with_bars(Table terms);

/// Every collective of one iteration that the placements ask for: which tensor, on which axis, and for each
/// level of links what its formula needs.
Table exchange_table(const Projection& projection, const Evaluation& evaluation);

/// The same by layer, largest first.
Table layer_table(const Projection& projection, const Evaluation& evaluation);

/// D, B, I, p; sums over layers; alpha and beta of the links in use.
std::string symbols_text(const Setting& setting, const Projection& projection, bool paper);
std::string memory_text(const Setting& setting, const Projection& projection, bool paper);
/// What exchanges overlap with: "the backward pass"; "both passes" for the rings of keys and values and for
/// gathered weights (ZeRO 3). Empty if nothing overlaps.
std::string_view hides_behind(std::span<const Projection> projections);
/// Sizes that do not divide evenly, and how they are handled: "vocabulary padded to 51200 words, ...", "...
/// each head is on 2 of them", "stages cannot have equal numbers of blocks ...".
std::vector<std::string> plan_notes(const Setting& setting, const Plan& plan);
/// The same for several projections, a line for each note with the projections it applies to: "data+tensor
/// 8x8: vocabulary padded to ...".
std::string plan_notes_text(const Setting& setting, std::span<const Projection> projections);
/// "80.1 s to 120 s per epoch, typically 95.0 s": with other jobs on the network. Needs `p.congested`.
std::string band_text(const Projection& p);
std::string limits_text(const Projection& projection, const Workload& work);
/// Every limit with its value and bound, and why it does not hold: for plans without times.
Table limits_table(const Projection& projection, const Workload& work);

/// The projection's JSON with `explanation`, `exchanges` and, if asked for, `layers` in each result.
/// `evaluations`: of each result, none where it was not priced; empty for the paper's closed forms.
nlohmann::ordered_json explanation_json(const Answer& answer, bool layers,
                                        const std::vector<std::optional<Evaluation>>& evaluations);

}  // namespace paradl
