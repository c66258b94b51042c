#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {

/// One measured training run: a line of a CSV file.
struct MeasuredRun {
  int line = 0;
  std::string model, system, strategy, grid, batch;
  int gpus = 1;
  std::optional<Seconds> iteration;  // none: only parts of it were measured
  std::optional<Seconds> compute, communication;
  std::map<std::string, Seconds> terms;  // measured separately, under their JSON names: "gradient_exchange"
  std::optional<Bytes> memory;
  std::optional<Seconds> left_out;  // projected with parameters fitted without runs like this one
  /// How it was trained, by option name: "micro-batches", "framework" ...; no value is empty.
  std::map<std::string, std::string> options;
  std::string source, notes;
  std::map<std::string, Spot, std::less<>> cells;  // the place of each cell, by column name
  /// The place of a column's cell, or of the line if it has no such cell.
  Spot spot(std::string_view column) const;

  std::string panel() const { return model + " " + strategy; }  // one curve of a figure
};

struct MeasuredRuns {
  SourceText source;
  std::vector<MeasuredRun> runs;
  std::vector<std::string> ignored;  // unknown columns
};

/// Reads the CSV. SpecError lists missing columns and invalid cells.
MeasuredRuns read_measured_runs(SourceText source);

}  // namespace paradl
