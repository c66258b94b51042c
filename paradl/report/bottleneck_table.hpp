#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/feasibility/bottleneck.hpp"
#include "paradl/feasibility/sensitivity.hpp"
#include "paradl/report/formats.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Every measure: its value, trigger, share of the time and cause.
Table findings_table(const std::vector<Finding>& findings, ReadBy reader = ReadBy::people);
/// Changes, largest gain first.
Table improvements_table(const std::vector<Improvement>& improvements, ReadBy reader = ReadBy::people);
/// The effect of half and twice of each value of the machine, as in a tornado chart.
Table sensitivity_table(const std::vector<Swing>& swings, ReadBy reader = ReadBy::people);

/// "Limit: gradient exchange, 24 % of the epoch: the exchange of gradients ...", and a line for each remedy
/// that is worth it, at most so many.
std::string bottleneck_text(const Bottleneck& bottleneck, std::size_t most);
/// Remedies in one line: the best one if they were projected, otherwise all options.
std::string remedy_text(const Bottleneck& bottleneck);

nlohmann::ordered_json bottleneck_json(const Bottleneck& bottleneck);
nlohmann::ordered_json findings_json(const std::vector<Finding>& findings);
nlohmann::ordered_json improvements_json(const std::vector<Improvement>& improvements);
nlohmann::ordered_json sensitivity_json(const std::vector<Swing>& swings);

}  // namespace paradl
