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
  std::map<std::string, Seconds> terms;  // what was measured by itself, as JSON calls it: "gradient_exchange"
  std::optional<Bytes> memory;
  std::optional<Seconds> left_out;  // projected with parameters that were fitted without runs like this one
  /// How it was trained, under the names of the options: "micro-batches", "framework" ...; none is empty.
  std::map<std::string, std::string> options;
  std::string source, notes;
  std::map<std::string, Spot, std::less<>> cells;  // where each stands, by the name of its column
  /// Where the cell of a column stands; the line where it has none.
  Spot spot(std::string_view column) const;

  std::string panel() const { return model + " " + strategy; }  // what a figure shows as one curve
};

struct MeasuredRuns {
  SourceText source;
  std::vector<MeasuredRun> runs;
  std::vector<std::string> ignored;  // columns that mean nothing here
};

/// Reads the CSV. SpecError lists missing columns and cells that cannot be.
MeasuredRuns read_measured_runs(SourceText source);

}  // namespace paradl
