#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/judge/exchange_lines.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// The mini-batch that fits with the least computation per sample.
struct BestBatch {
  double samples = 0;
  Seconds per_sample;
};

/// What a projection is judged by, apart from its terms.
struct Evidence {
  const Projection& projection;
  const Setting& setting;
  Mesh mesh;                           // without axes of one GPU
  const SystemSpec* system = nullptr;  // the system file; nullptr if it cannot be changed
  /// From the engine; none if a limit is broken, and for the paper's closed forms.
  struct Details {
    Details(const Projection& projection, const Evaluator& evaluator);

    const Evaluator& evaluator;
    Evaluation evaluation;
    Ledger exchanges;     // the most expensive first
    Seconds direct;       // point-to-point time with direct GPU-to-GPU transfer
    int largest = -1;     // index of the layer whose tensors are largest
    Bytes largest_layer;  // its memory, alone on a device
  };
  std::unique_ptr<const Details> details;
};

/// The value of a measure for one projection, and what it means.
struct Reading {
  double value = 0;
  double share = 0;      // of the iteration, or of the device's memory
  std::string cause;     // the layer or link that causes it
  std::string message;   // a sentence without a full stop
  bool forbids = false;  // a limit is broken: the plan is impossible
};

/// Without details: enough to know which changes are possible.
Evidence evidence_of(const Projection& projection, const Setting& setting);
/// With details, from the evaluator of the same setting.
Evidence evidence_of(const Projection& projection, const Setting& setting, const Evaluator& evaluator);

/// Prices other mini-batches of the plan. There must be details.
BestBatch best_batch(const Evidence& e);
/// Stages of the plan's pipeline; 1 if it has none.
int stages_of(const Evidence& e);
/// Parts into which the samples of a mini-batch are split.
double sample_parts(const Mesh& mesh);
/// All axes except that of a pipeline, whose GPUs have different layers.
AxisSet sharing_axes(const Evidence& e);
/// A stage's layers: each kind of layer and its number.
const std::vector<StageKind::Share>& cells_of_stage(const Evidence::Details& details, int stage);
/// Time of one micro-batch on a stage, forward and backward, including exchanges.
Seconds stage_time(const Evidence::Details& details, int stage);
const Layer& layer_of(const Evidence& e, const Cell& cell);

/// Share of the iteration.
double share_of(const Evidence& e, Seconds time);
/// Share of the iteration that a term takes and nothing hides.
double exposed(const Evidence& e, Term term);
/// The exchange that takes most of a term: "allreduce dw of all weights over data, 553 MB, level rack".
std::string busiest_exchange(const Evidence& e, Term term);
/// A term's share of the iteration, and the exchange that causes it.
std::optional<Reading> read_term(const Evidence& e, Term term, std::string_view what);

}  // namespace paradl
