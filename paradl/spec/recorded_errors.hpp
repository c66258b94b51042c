#pragma once
#include <limits>
#include <string>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl {

/// On what a projection rests, as far as its error depends on that.
struct ParameterLevel {
  std::string layers, links, framework;  // "profile", "measured", "chainermn"
  friend bool operator==(const ParameterLevel&, const ParameterLevel&) = default;
};

/// How far projections of one kind were from measured runs: nine times in ten, measured / projected lay
/// within `low` and `high`.
struct RecordedError {
  ParameterLevel level;
  std::string strategy;
  double from = 1, below = std::numeric_limits<double>::infinity();  // GPUs
  int runs = 0;
  double mean_accuracy = 0;
  double low = 1, high = 1;
};

/// The file accuracy/recorded.yaml, as `paradl validate --record` writes it.
std::vector<RecordedError> read_recorded_errors(const SourceText& source);
std::string recorded_text(const std::vector<RecordedError>& errors, const std::string& origin);

/// The record that a projection's interval comes from; nullptr if there is none.
const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus);

}  // namespace paradl
