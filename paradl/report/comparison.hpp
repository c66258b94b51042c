#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paradl/report/answer.hpp"
#include "paradl/report/result_fields.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One side of a comparison: a result as a JSON value, so that saved and new results are treated alike.
struct Contestant {
  std::string name;
  nlohmann::ordered_json result;  // one element of `results`
  bool feasible = false;
  std::size_t file = 0;  // index of its saved answer
};

Contestant contestant(const std::string& name, const Result& result);

/// The results of a saved answer (JSON, or an HTML report that contains it). SpecError if it is not one.
std::vector<Contestant> read_results(const SourceText& source);

/// For files with several results: the first strategy and number of GPUs that all files have.
void keep_common(std::vector<Contestant>& sides, std::size_t files);

/// For people: one column for each side, one row for each quantity.
Table comparison_table(const std::vector<Contestant>& sides);
/// For machines: one row for each side.
Table comparison_rows(const std::vector<Contestant>& sides);
/// "data is 1.13 times as fast as data+spatial."; if one does not fit, why.
std::string verdict(const std::vector<Contestant>& sides);
/// The sources of the numbers: "Layer times: ideal. Links: measured (dgx-h100), specified (b200)."
std::string basis(const std::vector<Contestant>& sides);
nlohmann::ordered_json comparison_json(const std::vector<std::string>& command,
                                       const std::vector<InputFile>& inputs,
                                       const std::vector<Contestant>& sides);

}  // namespace paradl
