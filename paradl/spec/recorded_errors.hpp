#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl {

/// On what a projection rests, and of what it is, as far as its error depends on that.
struct ParameterLevel {
  std::string layers, links, framework;     // "profile", "measured", "chainermn"
  std::string device = {}, precision = {};  // "V100 SXM2 16GB", "fp32"
  std::string networks = {};                // "convolutional", "transformer", "other"
  std::string changed = {};                 // what no measured run had: "--set", "--input"; never on record
  std::string fidelity = "detailed";        // or "paper", its closed forms
  friend bool operator==(const ParameterLevel&, const ParameterLevel&) = default;
};

/// Stands for all strategies together, where one has no runs of its own.
inline constexpr const char* any_strategy = "any";

/// By how many times a run may have been off, either way, to be recorded: beyond, something else is wrong.
inline constexpr double most_times = 1e6;

/// How far projections of one kind were from measured runs: nine times in ten, measured / projected lay
/// within `low` and `high`.
struct RecordedError {
  ParameterLevel level;
  std::string strategy;
  double from = 1, below = std::numeric_limits<double>::infinity();  // GPUs
  int runs = 0;
  double mean_accuracy = 0;                 // of projections,
  std::optional<double> left_out_accuracy;  // and of those that were made without runs like these
  double least = 1, most = 1;               // measured / projected of these runs themselves
  double low = 1, high = 1;
  Spot spot = {};  // of its strategy in the file it was read from
};

/// How many times as long something may take as it was said to.
struct Uncertainty {
  double low = 1, high = 1;
};
/// The same with one uncertainty more: independent errors add as squares do, in logarithms.
RecordedError widened(RecordedError error, const Uncertainty& by);
/// Of kernels that no run had, whose times may be off by `layer_error` (0.2: a fifth). Peak rates are never
/// exceeded; how far below them kernels stay differs from device to device, as much as data sheets are off.
Uncertainty kernel_uncertainty(const ParameterLevel& level, double layer_error);

/// The file profiles/accuracy/recorded.yaml, as `paradl validate --record` writes it.
struct RecordedErrors {
  std::string source;
  std::vector<RecordedError> errors;
};
RecordedErrors read_recorded_errors(const SourceText& source);
std::string recorded_text(const RecordedErrors& recorded);

/// What is new takes the place of what was recorded of the same levels; the rest stays, and where it was.
RecordedErrors merged(RecordedErrors old, const std::vector<RecordedError>& fresh, const std::string& origin);

/// The record that a projection's interval comes from: its strategy's (of `serial`: that of `data`), or that
/// of all together; nullptr if there is none, as of whatever runs out of core: see `Answer`.
const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus);

/// All that is on record for a level or, where that is nothing, for the nearest one, with as little as
/// possible of what is other, the slightest first: the precision; the device; a framework, taken for `ideal`;
/// a profile for modelled times or those of a model file, or the reverse; measured links, taken for specified
/// ones; the kind of network. What was changed is taken for the same without. Peak rates, specified links and
/// closed forms err in a way that nothing else tells of: for them nothing is near. Elsewhere than the runs,
/// but for the framework, layer times err in their own way, which widens intervals: `kernel_uncertainty`.
std::vector<RecordedError> nearest_recorded(const std::vector<RecordedError>& errors,
                                            const ParameterLevel& level, double layer_error);

}  // namespace paradl
