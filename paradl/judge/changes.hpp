// Everything that could be done differently in training, framework or system: one row for each technique.
// Fitting, hints and the remedies of bottlenecks refer to these rows. Whether a change helps, and by how
// much, is found by projecting it.
#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "paradl/judge/alternative.hpp"
#include "paradl/judge/evidence.hpp"

namespace paradl {

using Alternatives = std::vector<Alternative>;

/// One technique. Most have one value, with `applies` and what it changes, `plan` or `training`; the others
/// find their `values`.
struct Change {
  std::string_view text = {};  // "sharded optimizer state"; empty if it depends on the value
  std::string_view option;  // as typed: "--zero 1"; if there are several values: the option that they share
  Owner owner = Owner::user;
  bool (*applies)(const Evidence&) = nullptr;
  void (*plan)(Plan&) = nullptr;
  void (*training)(Training&) = nullptr;
  Alternatives (*values)(const Evidence&) = nullptr;
  bool best_only = false;  // of several changes of this option only the best one is listed as a remedy
};

/// The values of a change that are possible for a plan and differ from its current one, in the order
/// in which they are tried.
Alternatives alternatives(const Change& change, const Evidence& evidence);

namespace changes {

// Values that depend on more than the training.
Alternatives smaller_micro_batches_of(const Evidence& e);
Alternatives more_micro_batches_of(const Evidence& e);
Alternatives other_allreduces(const Evidence& e);
Alternatives fused_kernels(const Evidence& e);
Alternatives doubled_batch(const Evidence& e);
Alternatives batch_for_all_gpus(const Evidence& e);
Alternatives most_efficient_batch(const Evidence& e);
Alternatives grids_with_more_data(const Evidence& e);
Alternatives grids_with_tensor(const Evidence& e);
Alternatives grids_with_data_between_nodes(const Evidence& e);
Alternatives grids_with_less_memory(const Evidence& e);
Alternatives faster_links(const Evidence& e, Term term);
Alternatives ports_for_all_flows(const Evidence& e);
Alternatives full_network(const Evidence& e);
Alternatives twice_the_reader_rate(const Evidence& e);
Alternatives twice_the_storage_rate(const Evidence& e);
Alternatives each_gpu_reads(const Evidence& e);
Alternatives other_storage(const Evidence& e);

// Conditions that several rows share.
inline const Plan& now(const Evidence& e) { return e.projection.plan; }
inline const Training& training(const Evidence& e) { return e.setting.training; }
/// Whether some, but not all, blocks are recomputed.
inline bool recomputes_some(const Evidence& e) { return now(e).recomputed_blocks >= 0; }
bool stores_scores(const Evidence& e);
bool has_blocks(const Evidence& e);
/// Whether some axis splits channels, so that sums of activations are necessary.
bool has_split_channels(const Evidence& e);
/// Whether sequence parallelism is possible and not yet on.
bool can_split_sequence(const Evidence& e);
/// Whether this stage of ZeRO is possible and higher than the current one: some axis splits samples or space,
/// so that its GPUs hold the same weights, and no allreduce algorithm was asked for.
bool can_shard(const Evidence& e, int stage);
bool reads_known_input(const Evidence& e);

// clang-format off

// Memory of activations.
inline constexpr Change selective_recomputation{
    .text = "recomputed attention scores", .option = "--recompute selective",
    .applies = [](const Evidence& e) {
      const Recompute is = now(e).recompute;
      return stores_scores(e) &&
             (is == Recompute::none || (is == Recompute::selective && recomputes_some(e)));
    },
    .plan = [](Plan& p) { p.recompute = Recompute::selective, p.recomputed_blocks = -1; }};
inline constexpr Change full_recomputation{
    .text = "recomputed activations", .option = "--recompute full",
    .applies = [](const Evidence& e) {
      return has_blocks(e) && (now(e).recompute != Recompute::full || recomputes_some(e));
    },
    .plan = [](Plan& p) { p.recompute = Recompute::full, p.recomputed_blocks = -1; }};
inline constexpr Change sequence_parallelism{
    .text = "sequence parallelism between pairs of products", .option = "--sequence-parallel on",
    .owner = Owner::framework,
    .applies = can_split_sequence,
    .plan = [](Plan& p) { p.sequence_parallel = true; }};
/// With a pipeline schedule that does not keep the activations of all micro-batches.
inline constexpr Change smaller_micro_batches{
    .option = "--micro-batches", .values = smaller_micro_batches_of};

// Memory of weights, gradients and optimizer.
inline constexpr Change sharded_optimizer{
    .text = "sharded optimizer state", .option = "--zero 1", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return can_shard(e, 1); },
    .plan = [](Plan& p) { p.zero = 1; }};
inline constexpr Change sharded_gradients{
    .text = "sharded gradients and optimizer state", .option = "--zero 2", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return can_shard(e, 2); },
    .plan = [](Plan& p) { p.zero = 2; }};
inline constexpr Change sharded_weights{
    .text = "sharded weights, gradients and optimizer state", .option = "--zero 3", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return can_shard(e, 3); },
    .plan = [](Plan& p) { p.zero = 3; }};

// Pipelines.
inline constexpr Change more_micro_batches{
    .option = "--micro-batches", .values = more_micro_batches_of,
    .best_only = true};
inline constexpr Change two_chunks{
    .text = "two chunks of the network on each stage", .option = "--schedule interleaved:2",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) {
      const int stages = stages_of(e);
      return stages > 1 && now(e).chunks == 1 && now(e).micro_batches > 1 &&
             now(e).micro_batches % stages == 0;
    },
    .plan = [](Plan& p) { p.schedule = PipelineSchedule::interleaved, p.chunks = 2; }};
inline constexpr Change balanced_stages{
    .text = "stages of equal times instead of equal numbers of blocks",
    .option = "--set framework.stages=balanced", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).stage_cut == StageCut::equal_blocks; },
    .training = [](Training& t) { t.stage_cut = StageCut::balanced; }};

// Exchange of gradients.
inline constexpr Change overlap{
    .text = "gradients sent during the backward pass", .option = "--overlap on", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return !training(e).overlap; },
    .training = [](Training& t) { t.overlap = true; }};
/// More GPUs send, each its own part.
inline constexpr Change rings_per_part{
    .text = "a ring for each part of the weights instead of one leader per node",
    .option = "--set framework.hybrid-gradients=rings", .owner = Owner::framework,
    .applies = [](const Evidence& e) {
      return training(e).framework.hybrid_gradients == GradientRoute::leader && e.mesh.axes > 1;
    },
    .training = [](Training& t) { t.framework.hybrid_gradients = GradientRoute::rings; }};
inline constexpr Change rings_per_level{
    .text = "a ring on every level instead of one through all GPUs", .option = "--set framework.rings=levels",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.flat_rings; },
    .training = [](Training& t) { t.framework.flat_rings = false; }};
inline constexpr Change faster_packing{
    .text = "gradients packed twice as fast", .option = "--set framework.costs.packing=x2",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.packing > SecondsPerByte{}; },
    .training = [](Training& t) { t.framework.packing = 0.5 * t.framework.packing; }};
inline constexpr Change faster_tensors{
    .text = "half the packing time per tensor", .option = "--set framework.costs.tensor=x0.5",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.tensor > Seconds{}; },
    .training = [](Training& t) { t.framework.tensor *= 0.5; }};
inline constexpr Change other_allreduce{
    .option = "--allreduce", .owner = Owner::framework, .values = other_allreduces,
    .best_only = true};

// Other exchanges.
/// Applies to gathers of tensors that are split in space, too.
inline constexpr Change direct_halos{
    .text = "halos directly from GPU to GPU", .option = "--set framework.halos=gpu",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.halos == Transport::host; },
    .training = [](Training& t) { t.framework.halos = Transport::gpu; }};
inline constexpr Change direct_exchanges{
    .text = "exchanges directly from GPU to GPU", .option = "--transport gpu", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).transport == Transport::host; },
    .training = [](Training& t) { t.transport = Transport::gpu; }};
inline constexpr Change reduce_scatter{
    .text = "reduce-scatter instead of allreduce", .option = "--reduction reduce-scatter",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) {
      return training(e).reduction == Reduction::allreduce && has_split_channels(e);
    },
    .training = [](Training& t) { t.reduction = Reduction::reduce_scatter; }};

// Computation.
inline constexpr Change split_layers{
    .text = "all layers split, not only convolutions", .option = "--set framework.split=all",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.convolutions_only; },
    .training = [](Training& t) { t.framework.convolutions_only = false; }};
inline constexpr Change faster_split_layers{
    .text = "half the time for copies and small kernels of a split layer",
    .option = "--set framework.costs.split-layer=x0.5", .owner = Owner::framework,
    .applies = [](const Evidence& e) { return training(e).framework.split_layer > Seconds{}; },
    .training = [](Training& t) { t.framework.split_layer *= 0.5; }};
inline constexpr Change fused_update{
    .text = "one update kernel per weight tensor instead of one per operation",
    .option = "--set framework.optimizer-kernels=fused", .owner = Owner::framework, .values = fused_kernels};
inline constexpr Change synchronised_batch_norm{
    .text = "batch-norm statistics over all GPUs", .option = "--batch-norm sync",
    .applies = [](const Evidence& e) { return !training(e).synchronised_batch_norm; },
    .training = [](Training& t) { t.synchronised_batch_norm = true; }};

// Mini-batch.
inline constexpr Change twice_the_batch{.option = "-b", .values = doubled_batch};
inline constexpr Change larger_batch{.option = "-b", .values = batch_for_all_gpus};
inline constexpr Change best_batch{.option = "-b", .values = most_efficient_batch};

// Grid.
inline constexpr Change more_data{.option = "-s", .values = grids_with_more_data, .best_only = true};
inline constexpr Change tensor_instead{.option = "-s", .values = grids_with_tensor, .best_only = true};
inline constexpr Change data_between_nodes{
    .option = "-s", .values = grids_with_data_between_nodes, .best_only = true};
inline constexpr Change split_memory{.option = "-s", .values = grids_with_less_memory, .best_only = true};

// Input.
inline constexpr Change prefetch{
    .text = "the next mini-batch read during the iteration", .option = "--prefetch on",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) { return reads_known_input(e) && !training(e).input.prefetch; },
    .training = [](Training& t) { t.input.prefetch = true; }};
inline constexpr Change reading_by_each{
    .option = "--staging each", .owner = Owner::framework, .values = each_gpu_reads};
inline constexpr Change direct_staging{
    .text = "leaders send samples directly from GPU to GPU", .option = "--set framework.staging=gpu",
    .owner = Owner::framework,
    .applies = [](const Evidence& e) {
      return reads_known_input(e) && training(e).framework.staging == Transport::host &&
             e.projection.input->staged > Bytes{};
    },
    .training = [](Training& t) { t.framework.staging = Transport::gpu; }};
inline constexpr Change faster_reader{
    .option = "--set framework.costs.reader=x2", .owner = Owner::framework,
    .values = twice_the_reader_rate};
inline constexpr Change faster_storage{
    .option = "--set", .owner = Owner::system, .values = twice_the_storage_rate};
inline constexpr Change moved_samples{.option = "--input", .values = other_storage};

// System.
inline constexpr Change faster_gradient_links{
    .option = "--set", .owner = Owner::system,
    .values = [](const Evidence& e) { return faster_links(e, Term::gradient_exchange); }};
inline constexpr Change faster_activation_links{
    .option = "--set", .owner = Owner::system,
    .values = [](const Evidence& e) { return faster_links(e, Term::activation_exchange); }};
inline constexpr Change more_ports{.option = "--set", .owner = Owner::system, .values = ports_for_all_flows};
inline constexpr Change no_oversubscription{
    .option = "--set", .owner = Owner::system, .values = full_network};

// clang-format on

}  // namespace changes

/// What a plan keeps in memory, by what it grows with: samples, or weights.
enum class MemoryOf { activations, weights };

/// Changes of one option that saves memory and hardly changes the result of training. They exclude each
/// other; the smallest saving is first.
struct MemoryOption {
  MemoryOf of;
  std::array<const Change*, 3> changes;  // null: none
};
inline constexpr std::array memory_options{
    MemoryOption{MemoryOf::activations, {&changes::selective_recomputation, &changes::full_recomputation}},
    MemoryOption{MemoryOf::activations, {&changes::sequence_parallelism}},
    MemoryOption{MemoryOf::weights,
                 {&changes::sharded_optimizer, &changes::sharded_gradients, &changes::sharded_weights}},
    MemoryOption{MemoryOf::activations, {&changes::smaller_micro_batches}}};

/// All values of an option that are possible for a plan, smallest saving first.
Alternatives alternatives(const MemoryOption& option, const Evidence& evidence);

}  // namespace paradl
