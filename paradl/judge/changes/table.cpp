// The table of changes, and their values for a plan.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/judge/changes/values.hpp"

namespace paradl {
namespace changes {
namespace {

// clang-format off
constexpr std::array<Change, change_kinds> table{{
    // Memory of activations.
    {.kind = ChangeKind::selective_recomputation,
     .text = "recomputed attention scores", .option = "--recompute selective",
     .applies = [](const Evidence& e) {
       const Recompute is = now(e).recompute;
       return stores_scores(e) &&
              (is == Recompute::none || (is == Recompute::selective && recomputes_some(e)));
     },
     .plan = [](Plan& p) { p.recompute = Recompute::selective, p.recomputed_blocks = -1; }},
    {.kind = ChangeKind::full_recomputation,
     .text = "recomputed activations", .option = "--recompute full",
     .applies = [](const Evidence& e) {
       return has_blocks(e) && (now(e).recompute != Recompute::full || recomputes_some(e));
     },
     .plan = [](Plan& p) { p.recompute = Recompute::full, p.recomputed_blocks = -1; }},
    {.kind = ChangeKind::sequence_parallelism,
     .text = "sequence parallelism between pairs of products", .option = "--sequence-parallel on",
     .owner = Owner::framework,
     .applies = can_split_sequence,
     .plan = [](Plan& p) { p.sequence_parallel = true; }},
    // With a pipeline schedule that does not keep the activations of all micro-batches.
    {.kind = ChangeKind::smaller_micro_batches,
     .option = "--micro-batches", .values = smaller_micro_batches_of},

    // Memory of weights, gradients and optimizer.
    {.kind = ChangeKind::sharded_optimizer,
     .text = "sharded optimizer state", .option = "--zero 1", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return can_shard(e, 1); },
     .plan = [](Plan& p) { p.zero = 1; }},
    {.kind = ChangeKind::sharded_gradients,
     .text = "sharded gradients and optimizer state", .option = "--zero 2", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return can_shard(e, 2); },
     .plan = [](Plan& p) { p.zero = 2; }},
    {.kind = ChangeKind::sharded_weights,
     .text = "sharded weights, gradients and optimizer state", .option = "--zero 3", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return can_shard(e, 3); },
     .plan = [](Plan& p) { p.zero = 3; }},

    // Pipelines.
    {.kind = ChangeKind::more_micro_batches,
     .option = "--micro-batches", .values = more_micro_batches_of,
     .choice = Choice::micro_batches},
    {.kind = ChangeKind::two_chunks,
     .text = "two chunks of the network on each stage", .option = "--schedule interleaved:2",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) {
       const int stages = stages_of(e);
       return stages > 1 && now(e).chunks == 1 && now(e).micro_batches > 1 &&
              now(e).micro_batches % stages == 0;
     },
     .plan = [](Plan& p) { p.schedule = PipelineSchedule::interleaved, p.chunks = 2; }},
    {.kind = ChangeKind::balanced_stages,
     .text = "stages of equal times instead of equal numbers of blocks",
     .option = "--set framework.stages=balanced", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).stage_cut == StageCut::equal_blocks; },
     .training = [](Training& t) { t.stage_cut = StageCut::balanced; }},

    // Exchange of gradients.
    {.kind = ChangeKind::overlap,
     .text = "gradients sent during the backward pass", .option = "--overlap on", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return !training(e).overlap; },
     .training = [](Training& t) { t.overlap = true; }},
    // More GPUs send, each its own part.
    {.kind = ChangeKind::rings_per_part,
     .text = "a ring for each part of the weights instead of one leader per node",
     .option = "--set framework.hybrid-gradients=rings", .owner = Owner::framework,
     .applies = [](const Evidence& e) {
       return training(e).framework.hybrid_gradients == GradientRoute::leader && e.mesh.axes > 1;
     },
     .training = [](Training& t) { t.framework.hybrid_gradients = GradientRoute::rings; }},
    {.kind = ChangeKind::rings_per_level,
     .text = "a ring on every level instead of one through all GPUs", .option = "--set framework.rings=levels",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.flat_rings; },
     .training = [](Training& t) { t.framework.flat_rings = false; }},
    {.kind = ChangeKind::faster_packing,
     .text = "gradients packed twice as fast", .option = "--set framework.costs.packing=x2",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.packing > SecondsPerByte{}; },
     .training = [](Training& t) { t.framework.packing = 0.5 * t.framework.packing; }},
    {.kind = ChangeKind::faster_tensors,
     .text = "half the packing time per tensor", .option = "--set framework.costs.tensor=x0.5",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.tensor > Seconds{}; },
     .training = [](Training& t) { t.framework.tensor *= 0.5; }},
    {.kind = ChangeKind::other_allreduce,
     .option = "--allreduce", .owner = Owner::framework, .values = other_allreduces,
     .choice = Choice::allreduce},

    // Other exchanges.
    // Applies to gathers of tensors that are split in space, too.
    {.kind = ChangeKind::direct_halos,
     .text = "halos directly from GPU to GPU", .option = "--set framework.halos=gpu",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.halos == Transport::host; },
     .training = [](Training& t) { t.framework.halos = Transport::gpu; }},
    {.kind = ChangeKind::direct_exchanges,
     .text = "exchanges directly from GPU to GPU", .option = "--transport gpu", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).transport == Transport::host; },
     .training = [](Training& t) { t.transport = Transport::gpu; }},
    {.kind = ChangeKind::reduce_scatter,
     .text = "reduce-scatter instead of allreduce", .option = "--reduction reduce-scatter",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) {
       return training(e).reduction == Reduction::allreduce && has_split_channels(e);
     },
     .training = [](Training& t) { t.reduction = Reduction::reduce_scatter; }},

    // Computation.
    {.kind = ChangeKind::split_layers,
     .text = "all layers split, not only convolutions", .option = "--set framework.split=all",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.convolutions_only; },
     .training = [](Training& t) { t.framework.convolutions_only = false; }},
    {.kind = ChangeKind::faster_split_layers,
     .text = "half the time for copies and small kernels of a split layer",
     .option = "--set framework.costs.split-layer=x0.5", .owner = Owner::framework,
     .applies = [](const Evidence& e) { return training(e).framework.split_layer > Seconds{}; },
     .training = [](Training& t) { t.framework.split_layer *= 0.5; }},
    {.kind = ChangeKind::fused_update,
     .text = "one update kernel per weight tensor instead of one per operation",
     .option = "--set framework.optimizer-kernels=fused", .owner = Owner::framework, .values = fused_kernels},
    // Saves memory, but changes the result of training.
    {.kind = ChangeKind::plain_sgd,
     .text = "an optimizer without state", .option = "--optimizer sgd", .values = updates_without_state},
    {.kind = ChangeKind::synchronised_batch_norm,
     .text = "batch-norm statistics over all GPUs", .option = "--batch-norm sync",
     .applies = [](const Evidence& e) { return !training(e).synchronised_batch_norm; },
     .training = [](Training& t) { t.synchronised_batch_norm = true; }},

    // Mini-batch.
    {.kind = ChangeKind::twice_the_batch, .option = "-b", .values = doubled_batch},
    {.kind = ChangeKind::larger_batch, .option = "-b", .values = batch_for_all_gpus},
    {.kind = ChangeKind::best_batch, .option = "-b", .values = most_efficient_batch},

    // Grid.
    {.kind = ChangeKind::more_data, .option = "-s", .values = grids_with_more_data, .choice = Choice::grid},
    {.kind = ChangeKind::tensor_instead, .option = "-s", .values = grids_with_tensor, .choice = Choice::grid},
    {.kind = ChangeKind::data_between_nodes,
     .option = "-s", .values = grids_with_data_between_nodes, .choice = Choice::grid},
    {.kind = ChangeKind::split_memory, .option = "-s", .values = grids_with_less_memory, .choice = Choice::grid},
    {.kind = ChangeKind::more_gpus, .text = "twice the GPUs", .option = "-p", .values = twice_the_gpus},

    // Input.
    {.kind = ChangeKind::prefetch,
     .text = "the next mini-batch read during the iteration", .option = "--prefetch on",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) { return reads_known_input(e) && !training(e).input.prefetch; },
     .training = [](Training& t) { t.input.prefetch = true; }},
    {.kind = ChangeKind::reading_by_each,
     .option = "--staging each", .owner = Owner::framework, .values = each_gpu_reads},
    {.kind = ChangeKind::direct_staging,
     .text = "leaders send samples directly from GPU to GPU", .option = "--set framework.staging=gpu",
     .owner = Owner::framework,
     .applies = [](const Evidence& e) {
       return reads_known_input(e) && training(e).framework.staging == Transport::host &&
              e.projection.input->staged > Bytes{};
     },
     .training = [](Training& t) { t.framework.staging = Transport::gpu; }},
    {.kind = ChangeKind::faster_reader,
     .option = "--set framework.costs.reader=x2", .owner = Owner::framework,
     .values = twice_the_reader_rate},
    {.kind = ChangeKind::faster_storage,
     .option = "--set", .owner = Owner::system, .values = twice_the_storage_rate, .levers = storage_levers},
    {.kind = ChangeKind::moved_samples, .option = "--input", .values = other_storage},

    // System. Levers of the same level are studied in the order of these rows.
    {.kind = ChangeKind::faster_device, .option = "--set", .owner = Owner::system, .levers = peak_lever},
    {.kind = ChangeKind::faster_memory,
     .option = "--set", .owner = Owner::system,
     .levers = [](const SystemSpec&, Precision) {
       return Levers{{"memory bandwidth of a GPU", "device.memory-bandwidth"}};
     }},
    {.kind = ChangeKind::more_memory,
     .option = "--set", .owner = Owner::system,
     .levers = [](const SystemSpec&, Precision) { return Levers{{"memory of a GPU", "device.memory"}}; }},
    {.kind = ChangeKind::larger_nodes, .option = "--set", .owner = Owner::system, .levers = size_lever},
    {.kind = ChangeKind::faster_gradient_links,
     .option = "--set", .owner = Owner::system,
     .values = [](const Evidence& e) { return faster_links(e, Term::gradient_exchange); },
     .levers = bandwidth_levers},  // of all levels, whatever uses them
    {.kind = ChangeKind::faster_activation_links,
     .option = "--set", .owner = Owner::system,
     .values = [](const Evidence& e) { return faster_links(e, Term::activation_exchange); }},
    {.kind = ChangeKind::lower_latency, .option = "--set", .owner = Owner::system, .levers = latency_levers},
    {.kind = ChangeKind::more_ports,
     .option = "--set", .owner = Owner::system, .values = ports_for_all_flows, .levers = port_levers},
    {.kind = ChangeKind::no_oversubscription,
     .option = "--set", .owner = Owner::system, .values = full_network, .levers = oversubscription_levers},
    {.kind = ChangeKind::faster_host_link,
     .option = "--set", .owner = Owner::system, .levers = host_lever},
}};
// clang-format on
static_assert(std::ranges::all_of(table,
                                  [](const Change& row) { return &row == &table[std::size_t(row.kind)]; }),
              "a row for every ChangeKind, in the same order");

/// Where a lever is in a system file: device, levels from the inside out, host, storage.
std::size_t place_in_file(const Lever& lever, const SystemSpec& system) {
  const auto in = [&](std::string_view part) { return lever.path.starts_with(part); };
  const auto in_level = [&](const LevelSpec& level) { return in(fmt::format("levels.{}.", level.name)); };
  if (in("device.")) return 0;
  if (in("levels."))
    return 1 + std::size_t(std::ranges::find_if(system.levels, in_level) - system.levels.begin());
  return 1 + system.levels.size() + (in("host.") ? 0 : 1);
}

}  // namespace
}  // namespace changes

const Change& row_of(ChangeKind kind) { return changes::table[std::size_t(kind)]; }

Alternatives alternatives(ChangeKind kind, const Evidence& e) {
  const Change& change = row_of(kind);
  Alternatives out;
  if (change.values)
    out = change.values(e);
  else if (change.levers && e.system)
    for (const Lever& lever : change.levers(*e.system, e.setting.training.precision))
      out.push_back(changes::improved(lever));
  else if (change.applies && change.applies(e))
    out.push_back({.text = {}, .option = {}, .plan = change.plan, .training = change.training});
  for (Alternative& one : out) {
    if (one.text.empty()) one.text = change.text;
    if (one.option.empty()) one.option = change.option;
    one.of = &change, one.owner = change.owner;
  }
  return out;
}

Alternatives alternatives(const MemoryOption& option, const Evidence& e) {
  Alternatives out;
  for (const std::optional<ChangeKind>& change : option.changes)
    if (change)
      for (Alternative& one : alternatives(*change, e)) out.push_back(std::move(one));
  return out;
}

Levers levers(const SystemSpec& system, Precision precision) {
  Levers out;
  for (const Change& change : changes::table)
    if (change.levers)
      for (Lever& lever : change.levers(system, precision)) out.push_back(std::move(lever));
  std::ranges::stable_sort(out, {}, [&](const Lever& l) { return changes::place_in_file(l, system); });
  return out;
}

Alternative some_recomputation(int blocks) {
  return {.text = fmt::format("{} blocks recomputed", blocks),
          .option = fmt::format("--recompute full:{}", blocks),
          .of = &row_of(ChangeKind::full_recomputation),
          .plan = [blocks](Plan& p) { p.recompute = Recompute::full, p.recomputed_blocks = blocks; }};
}

}  // namespace paradl
