#pragma once
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/error_record.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"
#include "paradl/spec/measured_runs.hpp"

namespace paradl {

/// Measured runs with their projections, as data.
struct Validation {
  std::vector<std::string> command;
  std::vector<InputFile> inputs;
  std::vector<MeasuredRun> runs;
  std::vector<Judged> judged;          // in the order of `runs`
  std::vector<ParameterLevel> levels;  // of each projection
  std::vector<RecordedError> recorded;
  std::vector<std::string> bases;
  std::map<std::string, int> without_row;  // number of runs without a closed form of the paper, by strategy
};

/// One row per run.
Table validation_table(const Validation& validation);
/// The text report: the runs, the sums, the ranking, and the errors of each part.
std::string validation_text(const Validation& validation, const Style& style);
/// Schema paradl.validation/1.
nlohmann::ordered_json validation_json(const Validation& validation);

}  // namespace paradl
