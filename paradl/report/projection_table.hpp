#pragma once
#include <string>
#include <vector>

#include "paradl/report/answer.hpp"
#include "paradl/report/result_fields.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// Ids of all columns that projections can fill, in report order.
std::vector<std::string> projection_columns();
/// Ids of the columns that a command (`project` or `advise`) shows if --columns does not choose.
std::vector<std::string> default_columns(const Answer& answer, Shown command);

/// A table of the answer's results. `columns`: ids to show; UsageError for an unknown one. Results that do
/// not fit are marked, and footnotes say why. Times are per epoch except `iteration`.
Table projection_table(const Answer& answer, const std::vector<std::string>& columns);

/// Sorts results by a column, smallest first (rates, efficiency: largest first). UsageError for an unknown
/// one.
void sort_results(Answer& answer, const std::string& column);

}  // namespace paradl
