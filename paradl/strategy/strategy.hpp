#pragma once
#include <string_view>

#include "paradl/mesh/mesh.hpp"
#include "paradl/mesh/role.hpp"
#include "paradl/strategy/limit.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// A strategy is a name, a summary, and the role of each layer on its axis. A hybrid has several axes.
struct Strategy {
  std::string_view name;     // as typed on the command line
  std::string_view summary;  // one line for --help and `paradl strategies`
  Placement input;           // how each GPU reads the network's input
  /// The role of one layer, given the placement of its input.
  Role (*role)(const Workload&, std::size_t layer, const Parts&, Placement incoming);
  /// The limit to the number of parts; `batch` is the number of samples that the axis can split.
  Limit (*limit)(const Workload&, const Parts&, double batch);
  bool usual = true;   // tried if the user names no strategy: alone, and within the outer strategy
  bool outer = false;  // the first axis of the hybrids that are tried; exactly one strategy
  /// A hybrid within which this axis is also tried if the user names no strategy.
  std::string_view within = {};
  bool pairs = false;  // products come in pairs, between which the sequence may be split
  bool sums_inputs = false;  // splits the input channels of each layer, and sums its outputs
};

/// Whether an axis splits only the network: its GPUs read the same input.
bool splits_network(const Axis& axis);
/// Whether the GPUs of an axis have different layers.
bool is_pipeline(const Axis& axis, const Workload& work);
/// Whether an axis splits channels: its GPUs have the same layers and read the same input.
bool splits_channels(const Axis& axis, const Workload& work);
/// Whether keys and values of attention travel around the ring of an axis.
bool has_ring(const Axis& axis, const Workload& work);

/// The number of pipeline stages of a mesh; 1 if it has no pipeline.
int stages_of(const Mesh& mesh, const Workload& work);

/// The tightest bound: that of the layer with the smallest `extent`, among layers for which `counts` is true.
template <class Counts, class Extent>
Limit tightest(LimitRule rule, double value, const Workload& work, Counts counts, Extent extent) {
  Limit limit{.rule = rule, .value = value, .bound = value};
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    // Auxiliary heads set no limit: their extents shrink to one, and they run whole.
    if (!work.layers[i].auxiliary && counts(i) && (limit.layer < 0 || extent(work.layers[i]) < limit.bound)) {
      limit.bound = extent(work.layers[i]);
      limit.layer = int(i);
    }
  if (limit.layer < 0) limit.bound = 1;  // nothing to split
  return limit;
}

/// Whether the channels of a layer limit a strategy: convolutions do; without any, matrix products do.
bool sets_channel_limit(const Workload& work, const Layer& layer);

/// The role of a layer that is not a matrix product, on an axis that splits channels. It keeps the placement
/// of its input if it works channel by channel (group by group, head by head) and has enough of them.
Role keep_channels(const Layer& layer, const Parts& parts);

/// A matrix product whose filters and channels can be split.
bool is_dense_product(const Layer& layer);

}  // namespace paradl
