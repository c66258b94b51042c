#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paradl/report/answer.hpp"
#include "paradl/report/result_fields.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One side of a comparison: a result as a JSON value, so that saved and new results are treated the same.
struct Contestant {
  std::string name;
  nlohmann::ordered_json result;  // one element of `results`
  bool feasible = false;
  /// Of a saved answer: the checksums of its files by kind ("model"), and the typed changes ("--set").
  nlohmann::ordered_json made_of = nlohmann::ordered_json::object();
};

/// Answers to one question, side by side.
struct Comparison {
  std::string question;  // "data on 64 GPUs"; empty: it is the only one
  std::vector<Contestant> sides;
};

/// Saved answers that are compared.
struct SavedComparison {
  std::vector<Comparison> comparisons;  // a question for each plan that all files have, in their order
  std::vector<std::string> left_out;    // "filter on 64 GPUs (only in old)"
};

Contestant contestant(const std::string& name, const Result& result);

/// The results of a saved answer (JSON, or an HTML report that contains it). SpecError if it is not one.
std::vector<Contestant> read_results(const SourceText& source);

/// The results of each file, whose names differ. One result in each file is compared as it is; otherwise all
/// strategies and numbers of GPUs that the files have in common, with grids if a file has several. UsageError
/// without any.
SavedComparison compare_saved(const std::vector<std::vector<Contestant>>& files);

/// What was asked differently, such as model, system or mini-batch: "model: resnet50 (old), vgg16 (new)".
std::vector<std::string> differences(const std::vector<Comparison>& all);

/// For people: one column for each side, one row for each quantity, and a line above each question.
Table comparison_table(const std::vector<Comparison>& all);
/// For machines: one row for each side.
Table comparison_rows(const std::vector<Comparison>& all);
/// "data is 1.13 times as fast as data+spatial."; if one does not fit, why.
std::string verdict(const std::vector<Comparison>& all);
/// The sources of the numbers: "Layer times: ideal. Links: measured (dgx-h100, node of a3), specified
/// (rack of a3)."
std::string basis(const std::vector<Comparison>& all);
nlohmann::ordered_json comparison_json(const std::vector<std::string>& command,
                                       const std::vector<InputFile>& inputs,
                                       const std::vector<Comparison>& all);

}  // namespace paradl
