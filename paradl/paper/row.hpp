#pragma once
#include <string_view>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl::paper {

// clang-format off
/// The input of a row of the paper's table, with the paper's letters:
///   D  samples in the data set    B  samples per mini-batch      I = D/B  iterations   S  segments of a pipeline
///   p  GPUs, p = p1 p2            p1 data-parallel groups        p2 GPUs inside a group
///   alpha, beta, delta            start-up time, seconds per byte, bytes per item      phi  flows on a link
// clang-format on
struct Configuration {
  const Setting& setting;
  const Strategy* inner = nullptr;  // what the GPUs of a group split; none under serial and data
  Parts parts;                      // p2, and how it splits space
  double D = 0, B = 0, I = 0, p = 1, p1 = 1, p2 = 1, S = 1;
  Bytes delta;
  Link all, in, ex;  // links that span all GPUs, one group, and the groups
  double phi = 1;
  bool hybrid = false;    // both p1 and p2 are given, otherwise only p
  bool one_level = true;  // GPUs of a group are connected by the same level as the groups

  const std::vector<Layer>& layers() const { return setting.work.layers; }
  const LayerTime& time(std::size_t l) const { return setting.times.layer[l]; }
  std::vector<bool> split_layer;  // by layer: whether it is split, or runs whole on every GPU of a group
  bool split(std::size_t l) const { return split_layer[l]; }
};

/// One term of the epoch time, with the formula that `paradl explain` prints.
struct CostLine {
  Term term;
  Seconds time;
  std::string_view formula;
  std::string_view source;
};
using CostLines = std::vector<CostLine>;

/// One row of the paper's table. All functions are pure.
struct Row {
  std::string_view name;  // as typed on the command line
  CostLines (*time)(const Configuration&);
  Memory (*memory)(const Configuration&);
};

/// nullptr if the paper has no such row.
const Row* find_row(std::string_view strategy);
std::vector<std::string_view> row_names();

/// Like Evaluator::project, but by the paper's closed forms.
Projection project(const Setting& setting, const Plan& plan);
/// The links of α and β (all GPUs, or the groups) and of α_in and β_in (one group).
struct Links {
  const Level* all;
  const Level* in;
  double phi;
};
Links links_of(const Setting& setting, const Plan& plan);
/// The terms of its epoch time, for `explain`.
CostLines explain(const Setting& setting, const Plan& plan);

// Sums that several rows share.

inline constexpr std::string_view no_update_times = "0: update times are unknown";

/// Forward, backward and update if split layers are shared by `share` GPUs:
/// D/p1 (sum_split/share + sum_rest).
CostLines computation(const Configuration& c, double share, double update_share, std::string_view source);
/// sum |w| held by one GPU if split layers are shared by `share` GPUs.
double held_weights(const Configuration& c, double share);
/// 2 delta (samples sum (|x|+|y|) + sum |w|): values and gradients. The activations of split layers are
/// shared by `activation_share` GPUs, their weights by `weight_share`.
Memory memory_of(const Configuration& c, double samples, double activation_share, double weight_share);
/// Whether a layer's buffers count: views have none, and the authors' tool omits layers that frameworks run
/// in place (normalisation, activation) unless gamma states the share that is reused.
bool has_buffers(const Layer& layer, bool all);
/// 3(p-1) sum (alpha + m/p beta): an allgather in one direction and an allreduce in the other, for every
/// split product except the network's last.
Seconds layer_wise(const Configuration& c, double p, double samples, Link link);
/// Halos of all split layers with K > 1, to both sides: 2 sum [2 alpha + B (h(x) + h(dL/dy)) delta beta].
Seconds halos(const Configuration& c, double samples, Link link);
/// Gathering y of the last split layer, and scattering its gradient, if whole layers follow it.
Seconds gather_for_rest(const Configuration& c, double samples, Link link);

}  // namespace paradl::paper
