#pragma once
#include <span>
#include <string>
#include <string_view>

#include "paradl/cost/evaluator.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Term, formula, value per epoch, share and source: from the paper's table, or from the engine.
Table explain_paper(const Setting& setting, const Projection& projection);
Table explain_engine(const Setting& setting, const Projection& projection);
/// The same with the shares drawn, for people.
Table with_bars(Table terms);

/// Every collective of one iteration that the placements ask for: which tensor, on which axis, and for each
/// level of links what its formula needs.
Table exchange_table(const Projection& projection, const Evaluation& evaluation);

/// The same by layer, largest first.
Table layer_table(const Projection& projection, const Evaluation& evaluation);

/// D, B, I, p; sums over layers; alpha and beta of the links in use.
std::string symbols_text(const Setting& setting, const Projection& projection, bool paper);
std::string memory_text(const Setting& setting, const Projection& projection, bool paper);
/// Behind what exchanges hide: "the backward pass"; keys and values on their way around a ring, and weights
/// that are gathered when they are needed (ZeRO 3), hide behind both passes. Empty where nothing hides.
std::string_view hides_behind(const Setting& setting, std::span<const Projection> projections);
/// What does not come out even, and what is done about it: "vocabulary padded to 51200 words, ...", "... each
/// head is on 2 of them", "stages cannot have as many blocks each ...".
std::vector<std::string> plan_notes(const Setting& setting, const Mesh& mesh);
/// The same of several projections, a line each with those that it is true of: "data+tensor 8x8: vocabulary
/// padded to ...".
std::string plan_notes_text(const Setting& setting, std::span<const Projection> projections);
/// "80.1 s to 120 s per epoch, typically 95.0 s": beside other jobs. Only where `p.congested` is.
std::string band_text(const Projection& p);
std::string limits_text(const Projection& projection, const Workload& work);
/// Every limit with its value and its bound, and why it does not hold: the answer for what has no terms.
Table limits_table(const Projection& projection, const Workload& work);

/// The projection's JSON with `explanation`, `exchanges` and, if asked for, `layers` in each result.
/// `evaluations`: of each result, none where it was not priced; empty for the paper's closed forms.
std::string explanation_json(const Answer& answer, bool layers,
                             const std::vector<std::optional<Evaluation>>& evaluations);

}  // namespace paradl
