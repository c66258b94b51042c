// Everything that could be done differently in training, framework or system: one row for each technique.
// Fitting, hints, the remedies of bottlenecks and the sensitivity of a system read these rows. Whether a
// change helps, and by how much, is found by projecting it.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/judge/alternative.hpp"
#include "paradl/judge/evidence.hpp"

namespace paradl {

using Alternatives = std::vector<Alternative>;

/// The techniques. The table in changes/table.cpp has one row for each.
enum class ChangeKind {
  // Memory of activations
  selective_recomputation,
  full_recomputation,
  sequence_parallelism,
  smaller_micro_batches,
  // Memory of weights, gradients and optimizer
  sharded_optimizer,
  sharded_gradients,
  sharded_weights,
  // Pipelines
  more_micro_batches,
  two_chunks,
  balanced_stages,
  // Exchange of gradients
  overlap,
  rings_per_part,
  rings_per_level,
  faster_packing,
  faster_tensors,
  other_allreduce,
  // Other exchanges
  direct_halos,
  direct_exchanges,
  reduce_scatter,
  // Computation
  split_layers,
  faster_split_layers,
  fused_update,
  plain_sgd,
  synchronised_batch_norm,
  // Mini-batch
  twice_the_batch,
  larger_batch,
  best_batch,
  // Grid
  more_data,
  tensor_instead,
  data_between_nodes,
  split_memory,
  more_gpus,
  // Input
  prefetch,
  reading_by_each,
  direct_staging,
  faster_reader,
  faster_storage,
  moved_samples,
  // System
  faster_device,
  faster_memory,
  more_memory,
  larger_nodes,
  faster_gradient_links,
  faster_activation_links,
  lower_latency,
  more_ports,
  no_oversubscription,
  faster_host_link,
};
inline constexpr std::size_t change_kinds = std::size_t(ChangeKind::faster_host_link) + 1;

/// What several changes choose differently: of those, only the best one is listed as a remedy.
enum class Choice { own, micro_batches, allreduce, grid };

/// One value of a system file that one can buy differently.
struct Lever {
  std::string name;  // "bandwidth of level rack"
  std::string path;  // in the system file: "levels.rack.bandwidth"
  bool less_is_better = false;
};
using Levers = std::vector<Lever>;

/// One technique. Most have one value, with `applies` and what it changes, `plan` or `training`; the others
/// find their `values`. A row that only has `levers` makes each of them twice as good.
struct Change {
  ChangeKind kind;
  std::string_view text = {};  // "sharded optimizer state"; empty if it depends on the value
  std::string_view option;  // as typed: "--zero 1"; if there are several values: the option that they share
  Owner owner = Owner::user;
  bool (*applies)(const Evidence&) = nullptr;
  void (*plan)(Plan&) = nullptr;
  void (*training)(Training&) = nullptr;
  Alternatives (*values)(const Evidence&) = nullptr;
  Choice choice = Choice::own;
  Levers (*levers)(const SystemSpec&, Precision) = nullptr;  // what a study of the system varies
};
const Change& row_of(ChangeKind kind);

/// The values of a change that are possible for a plan and differ from its current one, in the order
/// in which they are tried.
Alternatives alternatives(ChangeKind kind, const Evidence& evidence);

/// All values of a system file that one can buy, in the order of the file: links, ports, GPUs per node,
/// memory, rates.
Levers levers(const SystemSpec& system, Precision precision);

/// This many recomputed blocks, instead of all: a further value of `full_recomputation`.
Alternative some_recomputation(int blocks);

/// What a plan keeps in memory, by what it grows with: samples, or weights.
enum class MemoryOf { activations, weights };

/// Changes of one option that saves memory and hardly changes the result of training. They exclude each
/// other; the smallest saving is first.
struct MemoryOption {
  MemoryOf of;
  std::array<std::optional<ChangeKind>, 3> changes;
};
inline constexpr std::array memory_options{
    MemoryOption{MemoryOf::activations,
                 {ChangeKind::selective_recomputation, ChangeKind::full_recomputation}},
    MemoryOption{MemoryOf::activations, {ChangeKind::sequence_parallelism}},
    MemoryOption{MemoryOf::weights,
                 {ChangeKind::sharded_optimizer, ChangeKind::sharded_gradients, ChangeKind::sharded_weights}},
    MemoryOption{MemoryOf::activations, {ChangeKind::smaller_micro_batches}}};

/// All values of an option that are possible for a plan, smallest saving first.
Alternatives alternatives(const MemoryOption& option, const Evidence& evidence);

}  // namespace paradl
