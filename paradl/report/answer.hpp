#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/expense.hpp"
#include "paradl/cost/nearest_record.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/fitting.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {

/// One spec file that an answer used.
struct InputFile {
  std::string kind, name;  // "model", "resnet50"
  SourceText source;
};

/// The result of a command, as data: printers only format it.
struct Answer {
  std::vector<std::string> command;  // as typed, without the program's name
  std::vector<InputFile> inputs;
  std::vector<std::string> read;  // paths of all files that it was made from
  std::string model, system, framework, fidelity;
  const Setting* setting = nullptr;
  ParameterLevel level;                 // the inputs that the error of the projections depends on
  std::vector<RecordedError> recorded;  // errors of projections at all levels
  std::vector<RecordedError> nearest;   // errors at this level, or the nearest: `nearest_recorded`
  /// The same for plans out of core.
  std::vector<RecordedError> nearest_out_of_core;
  double epochs = 0;                    // 0: not given
  bool costs = false;                   // whether to show their cost
  bool ranked = false;                  // whether results are sorted, best first
  std::vector<Projection> results;
  std::vector<std::vector<Bottleneck>> bottlenecks;  // of each result; empty: not examined
  /// If nothing fits in core: changes that would make it fit, fastest first.
  std::vector<Remedy> fitting;
};

/// The cost of the given number of epochs, or of one.
Expense expense_of(const Answer& answer, const Projection& projection);

/// The recorded error that gives a projection's 90 % interval, by level and strategy; nothing without a
/// record. Out of core it is that of the strategy in core, widened by the effect of a slower or faster host
/// link.
std::optional<RecordedError> recorded_error(const Answer& answer, const Projection& projection);

/// Whether the record is that of another level, or of runs in core for a plan out of core.
bool borrowed(const Answer& answer, const Projection& projection, const RecordedError& error);

/// Whether the record is that of the ideal framework: then its intervals mostly show the cost of frameworks,
/// and a line of text explains them better than columns.
bool from_ideal(const Answer& answer);

/// The recorded accuracy, in a sentence: "mean 94 % in 10 measured runs (data, 1 to 64 GPUs) (profile
/// layer times, measured links, framework chainermn)"; for the ideal framework and borrowed records, the
/// range of real time / projection; without a record, the error of the kernels.
std::string record_text(const Answer& answer, const Projection& projection);
/// The same for all strategies of an answer: "data 94 % (10 runs), filter 90 % (10 runs)".
std::string records_text(const Answer& answer);
/// "49.3 s to 70.6 s": the 90 % interval of the epoch. Empty without a record.
std::string interval_text(const Answer& answer, const Projection& projection);
/// Both in one line: "mean 86 % ... 90 % interval: 47 s to 98 s per epoch."
std::string accuracy_text(const Answer& answer, const Projection& projection);

/// Model flop of one iteration (forward and backward), for utilisation.
double model_flop(const Setting& setting, double batch);

/// How the time of the chosen allreduce was computed: "Allreduce: hd, message by message (link-load)." Empty
/// if none was chosen.
std::string allreduce_basis(const std::vector<Projection>& results);

/// Tokens per sample, or 0 if samples are not sequences.
double tokens_per_sample(const Workload& work);

}  // namespace paradl
