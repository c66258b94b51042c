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

/// How a pipeline is cut: so that the slowest stage is as fast as possible, by the times of layers and
/// messages (balanced) or of whole layers only (balanced_layers); or into equal numbers of repeated blocks,
/// as in Megatron-LM.
enum class StageCut { balanced, balanced_layers, equal_blocks };

/// Where samples are read from. None: reading takes no time, as in the paper's projections.
enum class InputFrom { none, node, shared };
inline constexpr std::array<std::string_view, 3> input_names{"none", "node", "shared"};
static_assert(names_every(InputFrom::shared, input_names), "name every InputFrom");

/// Who reads samples that several GPUs need: one of them (leader), which distributes them; or each GPU its
/// own.
enum class Readers { leader, each };
inline constexpr std::array<std::string_view, 2> reader_names{"leader", "each"};
static_assert(names_every(Readers::each, reader_names), "name all Readers");

/// The samples that a worker sees if the data set is on node storage. Global: all samples, which every node
/// has. Otherwise its own part; in each epoch it exchanges the fraction Q of it with others.
struct Shuffle {
  bool global = true;
  double Q = 0;
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

/// How samples get to the GPUs.
struct InputPlan {
  InputFrom from = InputFrom::none;
  Readers readers = Readers::leader;
  bool prefetch = true;  // the next mini-batch is read during the current iteration
  Shuffle shuffle;
};

/// How a framework trains: everything that is neither the network nor the machine.
struct Training {
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  int micro_batches = 1;  // per pipeline and iteration
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  int chunks = 1;  // pieces of the network on each stage, if the schedule is interleaved
  StageCut stage_cut = StageCut::balanced;
  bool overlap = true;                         // gradient exchange behind the backward pass
  Reduction reduction = Reduction::allreduce;  // of sums over filters or channels
  bool whole_sums = false;  // allreduce was requested by name: sums must not be scattered over a sequence
  bool sequence_parallel = false;  // between the pairs of `tensor`
  Recompute recompute = Recompute::none;
  int recomputed_blocks = -1;  // number of recomputed blocks, evenly spread; -1: all
  /// ZeRO shards optimizer state (1), gradients (2) and weights (3, as FSDP does) over the GPUs that have the
  /// same weights and different samples.
  int zero = 0;
  bool short_gradients = false;  // mixed precision: gradients are accumulated in 16 bits instead of fp32
  Bytes reserve;                 // memory for contexts, libraries and other needs of a framework
  double fragmentation = 0;      // as a fraction of activations and workspace
  bool synchronised_batch_norm = false;
  /// Backward under a spatial split: send boundary rows of dx to their owner and add them, instead of
  /// fetching boundary rows of dy. Both cost the same if a layer has as many filters as channels.
  bool halos_of_dx = false;
  /// GPUs that have the same gradient take part in one common sum if that is faster; otherwise a sum only
  /// joins GPUs with different addends.
  bool wide_sums = true;
  bool ceil_iterations = false;          // rounds I = D/B up, as the authors' tool does
  std::optional<double> gamma;           // the paper's memory reuse factor instead of our own accounting
  Bytes bucket{25e6};                    // gradients are sent in buckets of this size (PyTorch's default)
  const Algorithm* allreduce = nullptr;  // for gradients; none: a ring on every level
  double density = 1;                    // of sparse gradients
  ConvolutionPolicy convolutions;        // which algorithms modelled layer times may choose from
  FrameworkTerms framework;              // ideal, unless the user names one
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

/// As typed: `1f1b`, `interleaved:2`.
std::string schedule_text(const Training& training);
/// As typed: `global`, `local`, `partial:0.1`.
std::string shuffle_text(const Shuffle& shuffle);

/// Everything that a projection depends on, except strategy and grid.
struct Setting {
  const Workload& work;
  const Machine& machine;
  const LayerTimes& times;
  Training training;
  const Topology* topology = nullptr;  // between the machine's nodes; none: a tree of its levels
};

}  // namespace paradl
