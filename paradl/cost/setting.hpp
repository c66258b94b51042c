#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "paradl/core/shared.hpp"
#include "paradl/machine/layer_time.hpp"
#include "paradl/plan/plan.hpp"
#include "paradl/spec/framework_spec.hpp"

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

/// What all plans of a case have in common, apart from network and machine: how the framework trains, and
/// what the query fixes for all of them.
struct Training {
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  StageCut stage_cut = StageCut::balanced;
  bool overlap = true;                         // gradient exchange behind the backward pass
  Reduction reduction = Reduction::allreduce;  // of sums over filters or channels
  bool whole_sums = false;  // allreduce was requested by name: sums must not be scattered over a sequence
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
  ConvolutionPolicy convolutions;        // which algorithms modelled layer times may choose from
  FrameworkTerms framework;              // ideal, unless the user names one
  Transport transport = Transport::gpu;  // of exchanges between GPUs
  InputPlan input;

  /// How a plan's tensors are placed.
  PlacingRules placing(const Plan& plan) const {
    return {.reduction = reduction,
            .sequence_parallel = plan.sequence_parallel,
            .recompute = plan.recompute,
            .recomputed_blocks = plan.recomputed_blocks,
            .convolutions_only = framework.convolutions_only,
            .gathers_reduce = framework.gathers_reduce};
  }
  ItemBytes bytes() const {
    ItemBytes out = item_bytes(precision);
    if (short_gradients) out.gradient = out.sent_gradient;
    return out;
  }
};

/// As typed: `global`, `local`, `partial:0.1`.
std::string shuffle_text(const Shuffle& shuffle);

/// Everything that a projection depends on, except the plan. Copies share network, machine and layer times.
class Setting {
 public:
  Setting(Shared<Workload> of_work, Shared<Machine> on_machine, Shared<LayerTimes> with_times,
          Training how = {}, std::shared_ptr<const Topology> wires = nullptr)
      : work_(std::move(of_work)),
        machine_(std::move(on_machine)),
        times_(std::move(with_times)),
        training(std::move(how)),
        topology(std::move(wires)) {}

  /// The same on another machine.
  Setting on(Shared<Machine> other, std::shared_ptr<const Topology> wires) const {
    return {work_, std::move(other), times_, training, std::move(wires)};
  }
  /// The same with other layer times.
  Setting with(Shared<LayerTimes> other) const {
    return {work_, machine_, std::move(other), training, topology};
  }
  const Shared<Workload>& shared_work() const { return work_; }

 private:
  Shared<Workload> work_;
  Shared<Machine> machine_;
  Shared<LayerTimes> times_;

 public:
  const Workload& work = *work_;
  const Machine& machine = *machine_;
  const LayerTimes& times = *times_;
  Training training;
  std::shared_ptr<const Topology> topology;  // between the machine's nodes; none: a tree of its levels
};

}  // namespace paradl
