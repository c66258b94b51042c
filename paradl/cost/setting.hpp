#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "paradl/machine/layer_time.hpp"
#include "paradl/mesh/exchange.hpp"
#include "paradl/mesh/pipeline.hpp"
#include "paradl/network/algorithm.hpp"
#include "paradl/spec/framework_spec.hpp"
#include "paradl/strategy/rules.hpp"

namespace paradl {

/// Where a pipeline is cut: so that no stage takes longer than it must, by the times of its layers and of
/// what it sends, or of whole layers alone; or into equal numbers of the blocks that a network repeats, as
/// Megatron-LM does.
enum class StageCut { balanced, balanced_layers, equal_blocks };

/// Where samples are read from. None: they are there, as in the paper's projections.
enum class InputFrom { none, node, shared };
inline constexpr std::array<std::string_view, 3> input_names{"none", "node", "shared"};
static_assert(names_every(InputFrom::shared, input_names), "name every InputFrom");

/// Who reads the samples that several PEs need: one of them, for all; or each what it needs itself.
enum class Readers { leader, each };
inline constexpr std::array<std::string_view, 2> reader_names{"leader", "each"};
static_assert(names_every(Readers::each, reader_names), "name all Readers");

/// Which samples a worker may see of a data set that lies on node storage. Globally all: every node has them.
/// Otherwise its own part, of which it exchanges the fraction Q with others in each epoch.
struct Shuffle {
  bool global = true;
  double Q = 0;
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

/// How samples come to the PEs.
struct InputPlan {
  InputFrom from = InputFrom::none;
  Readers readers = Readers::leader;
  bool prefetch = true;  // the next mini-batch comes while this one is worked on
  Shuffle shuffle;
};

/// How a framework trains: everything that is neither the network nor the machine.
struct Training {
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  int micro_batches = 1;  // per pipeline and iteration
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  int chunks = 1;  // of the network on each stage, if the schedule is interleaved
  StageCut stage_cut = StageCut::balanced;
  bool overlap = true;                         // gradient exchange behind the backward pass
  Reduction reduction = Reduction::allreduce;  // what ends a sum over filters or channels
  bool whole_sums = false;  // allreduce was asked for by name: nothing may scatter sums over a sequence
  bool sequence_parallel = false;  // between the pairs of `tensor`
  Recompute recompute = Recompute::none;
  int recomputed_blocks = -1;  // so many, evenly spread; -1: all
  /// Optimizer state (1), gradients (2) and weights (3) are dealt out over the PEs that have the same weights
  /// and other samples (ZeRO; 3 is what FSDP does).
  int zero = 0;
  bool short_gradients = false;  // mixed precision: gradients are added up in 16 bits instead of fp32
  Bytes reserve;                 // contexts, libraries and what else a framework takes on each device
  double fragmentation = 0;      // of activations and workspace: what lies idle between them
  bool synchronised_batch_norm = false;
  /// Backward, the edges of dx are sent to their owners and added there, in place of edges of dy that are
  /// fetched: the same work where a layer has as many filters as channels.
  bool halos_of_dx = false;
  /// PEs that have the same gradient take part in its sum where that is faster; otherwise only those do that
  /// have addends.
  bool wide_sums = true;
  bool ceil_iterations = false;          // rounds I = D/B up, as the authors' tool does
  std::optional<double> gamma;           // the paper's memory reuse factor instead of our own accounting
  Bytes bucket{25e6};                    // gradients are sent in pieces of this size (PyTorch's default)
  const Algorithm* allreduce = nullptr;  // of gradients; none: a ring on every level
  double density = 1;                    // of sparse gradients
  ConvolutionPolicy convolutions;        // which algorithms modelled layer times may choose from
  FrameworkTerms framework;              // the ideal, unless one was named
  Transport transport = Transport::gpu;  // of exchanges between GPUs
  InputPlan input;

  Pipeline pipeline(int stages) const { return {stages, micro_batches, stages > 1 ? chunks : 1, schedule}; }
  PlacingRules placing() const {
    return {.reduction = reduction,
            .sequence_parallel = sequence_parallel,
            .recompute = recompute,
            .recomputed_blocks = recomputed_blocks,
            .convolutions_only = framework.convolutions_only,
            .gathers_reduce = framework.gathers_reduce};
  }
  ItemBytes bytes() const {
    ItemBytes out = item_bytes(precision);
    if (short_gradients) out.gradient = out.sent_gradient;
    return out;
  }
};

/// As it is asked for: `1f1b`, `interleaved:2`.
std::string schedule_text(const Training& training);
/// As it is asked for: `global`, `local`, `partial:0.1`.
std::string shuffle_text(const Shuffle& shuffle);

/// Everything a projection depends on besides strategy and grid.
struct Setting {
  const Workload& work;
  const Machine& machine;
  const LayerTimes& times;
  Training training;
  const Topology* topology = nullptr;  // between the machine's nodes; none: a tree of its levels
};

}  // namespace paradl
