#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/question.hpp"
#include "paradl/query/algorithm_words.hpp"
#include "paradl/query/given.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// Where layer times come from.
enum class LayerLevel { best, ideal, modelled, profile };
inline constexpr std::array<std::string_view, 4> layer_level_names{"best", "ideal", "modelled", "profile"};
static_assert(names_every(LayerLevel::profile, layer_level_names), "name every LayerLevel");

/// A number of GPUs. If it was given in nodes, `per_node` is the number of GPUs of each.
struct GpuCount {
  int gpus = 1, per_node = 0;
  GpuCount(int all, int of_a_node = 0) : gpus(all), per_node(of_a_node) {}
  friend bool operator==(const GpuCount&, const GpuCount&) = default;
};

/// What the user asks, as values. The command line, a measured run, a study of a machine and a test all fill
/// this struct; `load` finds what it refers to. Missing values come from the framework, the model or the
/// system, or are chosen.
struct Query {
  // What is trained, under what, on what: names in the catalog, or paths.
  Given<std::string> model, system, framework, profile;
  std::vector<Override> system_changes, framework_changes;  // values that replace those of the files
  bool measured_terms = false;  // measured runs had these framework_changes: the file lacks them

  // The number of GPUs, the mini-batch, and how work is split.
  Given<std::vector<GpuCount>> gpus;
  Given<BatchRule> batch;
  Given<std::vector<StrategyName>> strategies;
  Given<std::vector<Parts>> grid;  // sizes of the axes of the only strategy
  Given<Grids> grids;

  // How it is trained.
  Given<Precision> precision;
  Given<Optimizer> optimizer;
  Given<Transport> transport;
  Given<int> micro_batches;
  Given<PipelineOrder> schedule;
  Given<Recomputation> recompute;
  Given<int> zero;
  Given<bool> sequence_parallel, flash;
  Given<bool> short_gradients;  // accumulated in 16 bits
  Given<Bytes> reserve;
  Given<double> fragmentation;
  Given<bool> overlap;
  Given<Reduction> reduction;
  Given<AlgorithmWord> allreduce;
  Given<bool> synchronised_batch_norm;
  Given<double> gamma;
  Given<ConvolutionPolicy> convolutions;

  // How samples get to the GPUs.
  Given<InputFrom> input;
  Given<Readers> staging;
  Given<bool> prefetch;
  Given<Shuffle> shuffle;

  // The parameters behind the answer, and the length of training.
  Given<Fidelity> fidelity;
  Given<LayerLevel> layer_times;
  Given<LinkLevel> links;
  Given<bool> ceil_iterations;
  Given<double> samples, epochs;
  Given<Price> price;

  friend bool operator==(const Query&, const Query&) = default;
};

}  // namespace paradl
