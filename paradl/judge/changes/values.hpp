// What the rows of changes/table.cpp are made of.
#pragma once
#include "paradl/judge/changes.hpp"

namespace paradl::changes {

// Values that depend on more than the training.
Alternatives smaller_micro_batches_of(const Evidence& e);
Alternatives more_micro_batches_of(const Evidence& e);
Alternatives other_allreduces(const Evidence& e);
Alternatives fused_kernels(const Evidence& e);
Alternatives updates_without_state(const Evidence& e);
Alternatives doubled_batch(const Evidence& e);
Alternatives batch_for_all_gpus(const Evidence& e);
Alternatives most_efficient_batch(const Evidence& e);
Alternatives grids_with_more_data(const Evidence& e);
Alternatives grids_with_tensor(const Evidence& e);
Alternatives grids_with_data_between_nodes(const Evidence& e);
Alternatives grids_with_less_memory(const Evidence& e);
Alternatives twice_the_gpus(const Evidence& e);
Alternatives faster_links(const Evidence& e, Term term);
Alternatives ports_for_all_flows(const Evidence& e);
Alternatives full_network(const Evidence& e);
Alternatives twice_the_reader_rate(const Evidence& e);
Alternatives twice_the_storage_rate(const Evidence& e);
Alternatives each_gpu_reads(const Evidence& e);
Alternatives other_storage(const Evidence& e);

// Values of a system file that one can buy.
Levers peak_lever(const SystemSpec& system, Precision precision);
Levers size_lever(const SystemSpec& system, Precision);
Levers bandwidth_levers(const SystemSpec& system, Precision);
Levers latency_levers(const SystemSpec& system, Precision);
Levers port_levers(const SystemSpec& system, Precision);
Levers oversubscription_levers(const SystemSpec& system, Precision);
Levers host_lever(const SystemSpec& system, Precision);
Levers storage_levers(const SystemSpec& system, Precision);
Lever bandwidth_of(std::string_view level);
Lever ports_of(const SystemSpec& system, std::size_t level);
Lever read_rate_of(std::string_view storage);
/// Twice as good: twice its value, or half of it.
Alternative improved(const Lever& lever);

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

}  // namespace paradl::changes
