#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/expense.hpp"

namespace paradl {

/// GPU-hours, money and energy in one line: "94.7 GPU-hours for 90 epochs, 237 USD, at most 28.4 kWh (GPUs;
/// hosts and network unknown)".
std::string expense_text(const Expense& expense, const Machine& machine);

/// What the `cost` of a result has in addition to numbers.
nlohmann::ordered_json expense_json(const Expense& expense, const Machine& machine);

}  // namespace paradl
