#pragma once
#include <string_view>

#include "paradl/mesh/mesh.hpp"
#include "paradl/mesh/role.hpp"
#include "paradl/strategy/limit.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// A strategy is a name, a sentence, and the role that each layer plays on its axis. Hybrids are products of
/// these.
struct Strategy {
  std::string_view name;     // as typed on the command line
  std::string_view summary;  // one line for --help and `paradl strategies`
  Placement input;           // how each PE reads the network's input
  /// The role of one layer, given how its input comes to it.
  Role (*role)(const Workload&, std::size_t layer, const Parts&, Placement incoming);
  /// Where it stops fitting; `batch` is the samples that the axis has to share out.
  Limit (*limit)(const Workload&, const Parts&, double batch);
  bool usual = true;   // tried where no strategy is named
  bool pairs = false;  // products in pairs, between which the sequence may be split
  bool sums_inputs = false;  // splits the input channels of each layer, and sums what comes out
};

/// The tightest bound: the layer for which `extent` is smallest among those that `counts`.
template <class Counts, class Extent>
Limit tightest(LimitRule rule, double value, const Workload& work, Counts counts, Extent extent) {
  Limit limit{.rule = rule, .value = value, .bound = value};
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    // Auxiliary heads end in extents of one; they run whole.
    if (!work.layers[i].auxiliary && counts(i) && (limit.layer < 0 || extent(work.layers[i]) < limit.bound)) {
      limit.bound = extent(work.layers[i]);
      limit.layer = int(i);
    }
  if (limit.layer < 0) limit.bound = 1;  // nothing to split
  return limit;
}

/// Layers whose channels bound a strategy: convolutions; in a network without any, its matrix products.
bool sets_channel_limit(const Workload& work, const Layer& layer);

/// The role of a layer that is no matrix product where channels are split: it keeps what comes, if it works
/// channel by channel (group by group, head by head) and there are enough of them.
Role keep_channels(const Layer& layer, const Parts& parts);

/// A matrix product whose filters and channels can be dealt out.
bool is_dense_product(const Layer& layer);

}  // namespace paradl
