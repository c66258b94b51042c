#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/expense.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/feasibility/bottleneck.hpp"
#include "paradl/feasibility/fitting.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// One spec file that an answer rests on.
struct InputFile {
  std::string kind, name;  // "model", "resnet50"
  SourceText source;
};

/// What a command found, as data: printers only format it.
struct Answer {
  std::vector<std::string> command;  // as typed, without the program's name
  std::vector<InputFile> inputs;
  std::string model, system, framework, fidelity;
  const Setting* setting = nullptr;
  ParameterLevel level;                 // on what the projections rest
  std::vector<RecordedError> recorded;  // how far off projections were, at all levels,
  std::vector<RecordedError> nearest;   // and at this one, or the nearest: `nearest_recorded`
  std::vector<RecordedError> beyond;    // the same for plans out of core, which no run had
  double epochs = 0;                    // 0: not asked
  bool costs = false;                   // what they cost is shown
  bool ranked = false;                  // results stand in the order of choice
  std::vector<Projection> results;
  std::vector<std::vector<Bottleneck>> bottlenecks;  // of each result; empty: nobody looked
  /// What would make it fit in core, the cheapest first: where nothing does as it is asked.
  std::vector<Remedy> fitting;
};

/// What the epochs that were asked for use up, or one.
Expense expense_of(const Answer& answer, const Projection& projection);

/// Where a projection's time is expected nine times in ten, by the recorded error of its level and strategy;
/// nothing if nothing was recorded. Out of core, by that of the strategy in core, wider by what the plan
/// takes longer, or less long, behind another host link.
std::optional<RecordedError> recorded_error(const Answer& answer, const Projection& projection);

/// Whether that is the error of other runs than those that were asked about.
bool borrowed(const Answer& answer, const Projection& projection, const RecordedError& error);

/// Whether intervals tell how far runs are from what frameworks cost nothing for, and not how right
/// projections are: a line says it better than columns do.
bool from_ideal(const Answer& answer);

/// What a projection's level is worth, in a sentence: "94 % mean accuracy over 10 runs of data (profile layer
/// times, measured links, chainermn)"; of the ideal framework and of runs elsewhere, between how many times
/// as long runs took; or that nothing is on record, and what is known of the kernels.
std::string record_text(const Answer& answer, const Projection& projection);
/// The same for all strategies of an answer: "data 94 % (10 runs), filter 90 % (10 runs)".
std::string records_text(const Answer& answer);
/// "49.3 s to 70.6 s": the epoch, nine times in ten. Empty if nothing was recorded.
std::string interval_text(const Answer& answer, const Projection& projection);
/// Both in one line: "86 % on record, ... Nine times in ten: 47 s to 98 s per epoch."
std::string accuracy_text(const Answer& answer, const Projection& projection);

/// Model flop of one iteration (forward and backward), for utilisation.
double model_flop(const Setting& setting, double batch);

/// The allreduce that was asked for, as it is typed: "sparse-ring:0.0078". Empty if none was.
std::string allreduce_text(const Training& training);
/// How it was priced: "Allreduce: hd, message by message on the wires." Empty if none was asked for.
std::string allreduce_basis(const Training& training, const std::vector<Projection>& results);

/// The vocabulary as a framework pads it for the parts of `tensor`; 0 where it leaves it as it is.
double padded_words(const Workload& work, const FrameworkTerms& framework, const Mesh& mesh);
/// Parts of `tensor` that have the same heads of keys and values; 1 where each has its own.
double kv_copies(const Workload& work, const Mesh& mesh);

/// Tokens per sample, or 0 where samples are no sequences.
double tokens_per_sample(const Workload& work);

}  // namespace paradl
