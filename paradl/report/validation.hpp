#pragma once
#include <map>
#include <string>
#include <vector>

#include "paradl/cost/error_record.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"
#include "paradl/spec/measured_runs.hpp"

namespace paradl {

/// Measured runs beside their projections, as data.
struct Validation {
  std::vector<std::string> command;
  std::vector<InputFile> inputs;
  std::vector<MeasuredRun> runs;
  std::vector<Judged> judged;          // in the order of `runs`,
  std::vector<ParameterLevel> levels;  // with what each projection rests on
  std::vector<RecordedError> recorded;
  std::vector<std::string> bases;
  std::map<std::string, int>
      without_row;  // runs that do not count, by strategy: the paper has no closed form
};

/// One row a run.
Table validation_table(const Validation& validation);
/// All that people read: the runs, the sums, the ranking, and where the gaps are.
std::string validation_text(const Validation& validation, const Style& style);
/// Schema paradl.validation/1.
std::string validation_json(const Validation& validation);
std::string validation_lines(const Validation& validation);

}  // namespace paradl
