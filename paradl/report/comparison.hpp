#pragma once
#include <string>
#include <vector>

#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One side of a comparison: a result as the JSON has it, so that saved results and fresh ones are the same
/// thing.
struct Contestant {
  std::string name;
  std::string json;  // one element of `results`
  bool feasible = false;
  std::size_t file = 0;  // which of the saved answers it comes from
};

Contestant contestant(const std::string& name, const Answer& answer, std::size_t result);

/// The results of a saved answer (JSON, or an HTML report that carries it). SpecError if it is none.
std::vector<Contestant> read_results(const SourceText& source);

/// Of files with several results each: those that all files have (same strategy and GPUs), the first of these
/// per file.
void keep_common(std::vector<Contestant>& sides, std::size_t files);

/// For people: one column for each side, one row for each quantity.
Table comparison_table(const std::vector<Contestant>& sides);
/// For machines: one row for each side.
Table comparison_rows(const std::vector<Contestant>& sides);
/// "data is 1.13 times as fast as data+spatial."; of what does not fit, why.
std::string verdict(const std::vector<Contestant>& sides);
/// What the numbers rest on: "Layer times: roofline. Links: specifications of abci."
std::string basis(const std::vector<Contestant>& sides);
std::string comparison_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                            const std::vector<Contestant>& sides);

}  // namespace paradl
