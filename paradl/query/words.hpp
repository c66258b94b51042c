#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/query/query.hpp"

// Reads words as people write them, on a command line or in a file. All functions throw a UsageError for a
// word that they cannot read; `name` is the option: --name WORD.
namespace paradl {

/// A number within bounds.
double read_number(std::string_view name, std::string_view text, double least, double most);
int read_count(std::string_view name, std::string_view text, int least, int most);

/// Splits at a character; no empty pieces.
std::vector<std::string> split_list(std::string_view text, char at);

/// `64`, `16,64,256`, `16..1024` (doubling), `16..128:+16`, `4..1024:x4`, `16x4` (nodes x GPUs).
std::vector<GpuCount> read_gpu_counts(std::string_view text);
/// Each number once. UsageError if the machine has fewer GPUs, or nodes of another size.
std::vector<int> gpus_of(const std::vector<GpuCount>& counts, const Machine& machine);

/// `2048`, `32/gpu`, `64/node`.
BatchRule read_batch(std::string_view text);
/// The text that `read_batch` reads.
std::string text_of(const BatchRule& rule);

/// `data,data+filter`.
std::vector<StrategyName> read_strategies(const std::string& text);
/// `gpipe`, `1f1b`, `interleaved:2`.
PipelineOrder read_schedule(const std::string& text);
/// `full`, `full:24`: 24 blocks.
Recomputation read_recompute(const std::string& text);
/// `global`, `local`, `partial:0.1`.
Shuffle read_shuffle(const std::string& text);

/// `levels.rack.bandwidth=x2`.
Override read_change(const std::string& text);
/// Adds a change to a query; `framework.KEY=VALUE` is one of the framework.
void add_change(Query& query, Override change);

}  // namespace paradl
