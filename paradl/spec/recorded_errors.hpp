#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl {

/// The inputs of a projection on which its error depends.
struct ParameterLevel {
  std::string layers, links, framework;     // "profile", "measured", "chainermn"
  std::string device = {}, precision = {};  // "V100 SXM2 16GB", "fp32"
  std::string networks = {};                // "convolutional", "transformer", "other"
  std::string changed = {};           // options that no measured run had: "--set", "--input"; not recorded
  std::string fidelity = "detailed";  // or "paper": closed forms
  friend bool operator==(const ParameterLevel&, const ParameterLevel&) = default;
};

/// Names the record of all strategies together, for strategies without runs of their own.
inline constexpr const char* any_strategy = "any";

/// A run is recorded only if it was wrong by at most this factor; a larger one indicates a mistake elsewhere.
inline constexpr double most_times = 1e6;

/// How far projections of one kind were from measured runs: in nine of ten cases, measured / projected is
/// between `low` and `high`.
struct RecordedError {
  ParameterLevel level;
  std::string strategy;
  double from = 1, below = std::numeric_limits<double>::infinity();  // GPUs
  int runs = 0;
  double mean_accuracy = 0;                 // of projections
  std::optional<double> left_out_accuracy;  // of projections with parameters fitted without these runs
  double least = 1, most = 1;               // measured / projected of these runs
  double low = 1, high = 1;
  Spot spot = {};  // of its strategy in the file
};

/// Bounds of actual time / projected time.
struct Uncertainty {
  double low = 1, high = 1;
};
/// Adds an independent uncertainty: the squares of the logarithms add up.
RecordedError widened(RecordedError error, const Uncertainty& by);
/// The uncertainty of kernels that no recorded run had, whose times have a relative error of `layer_error`.
/// Times at peak rates are lower bounds; by how much kernels exceed them varies with the device.
Uncertainty kernel_uncertainty(const ParameterLevel& level, double layer_error);

/// The file profiles/accuracy/recorded.yaml, as `paradl validate --record` writes it.
struct RecordedErrors {
  std::string source;
  std::vector<RecordedError> errors;
};
RecordedErrors read_recorded_errors(const SourceText& source);
std::string recorded_text(const RecordedErrors& recorded);

/// Replaces the records of the levels in `fresh`; the others keep their values and places.
RecordedErrors merged(RecordedErrors old, const std::vector<RecordedError>& fresh, const std::string& origin);

/// The record that gives a projection's interval: that of its strategy (`serial` uses that of `data`), or
/// that of all strategies together; nullptr if there is none. Out-of-core plans have none: see `Answer`.
const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus);

/// The records of a level or, if there are none, of the nearest level. In order of increasing distance, it
/// may differ in precision; device; framework (only `ideal` may replace another); source of the layer times
/// (profile, modelled or model file); links (only specified links may replace measured ones); kind of
/// network. Options that no run had are ignored. Peak rates, specified links and closed forms have errors of
/// their own, so that nothing is near them. If anything but the framework differs, the errors of the layer
/// times differ as well, which widens the intervals by `kernel_uncertainty`.
std::vector<RecordedError> nearest_recorded(const std::vector<RecordedError>& errors,
                                            const ParameterLevel& level, double layer_error);

}  // namespace paradl
