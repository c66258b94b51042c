// Tensor parallelism (Megatron-style): filter and channel in turn on successive matrix products, so that what
// the first leaves in slices is just what the second takes.
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

bool can_cut(const Workload& work, std::size_t i) {
  const Layer& layer = work.layers[i];
  return is_dense_product(layer) && work.tensor(i);
}

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement incoming) {
  const Layer& layer = work.layers[i];
  if (can_cut(work, i)) {
    if (incoming == Placement::split_channel && layer.channels() >= parts.total) return Role::channel;
    return layer.filters() >= parts.total ? Role::filter : Role::whole;
  }
  // Each PE looks up the rows of the vocabulary that it holds; the sum over all of them is the embedding.
  if (layer.op == Op::embedding)
    return layer.weights / layer.filters() >= parts.total ? Role::channel : Role::whole;
  return keep_channels(layer, parts);
}

/// Heads bound a transformer, filters a convolutional network.
Limit limit(const Workload& work, const Parts& parts, double) {
  const auto attends = [&](std::size_t i) { return work.layers[i].op == Op::attention; };
  const Limit heads =
      tightest("p <= heads", parts.total, work, attends, [](const Layer& l) { return l.heads; });
  if (heads.layer >= 0) return heads;
  const auto counts = [&](std::size_t i) {
    return can_cut(work, i) && sets_channel_limit(work, work.layers[i]);
  };
  return tightest("p <= min F", parts.total, work, counts, [](const Layer& l) { return l.filters(); });
}

}  // namespace

extern constinit const Strategy tensor_strategy{"tensor",
                                                "split filters and channels in turn on successive products",
                                                Placement::replicated, role, limit};

}  // namespace paradl
