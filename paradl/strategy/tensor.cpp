// Tensor parallelism (Megatron-style): filter and channel in turn on successive matrix products, so that the
// second product reads exactly the slices that the first one leaves.
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

bool can_cut(const Workload& work, std::size_t i) {
  const Layer& layer = work.layers[i];
  return is_dense_product(layer) && work.may_split(SplitBy::tensor, i);
}

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement incoming) {
  const Layer& layer = work.layers[i];
  if (can_cut(work, i)) {
    if (incoming == Placement::split_channel && layer.channels() >= parts.total) return Role::channel;
    return layer.filters() >= parts.total ? Role::filter : Role::whole;
  }
  // Each GPU looks up the rows of the vocabulary that it holds; the sum over all GPUs is the embedding.
  if (layer.op == Op::embedding)
    return layer.weights / layer.filters() >= parts.total ? Role::channel : Role::whole;
  if (incoming == Placement::split_space && traits(layer.op).per_position) return Role::keep;
  if (layer.op == Op::attention) return layer.query_heads >= parts.total ? Role::keep : Role::whole;
  return keep_channels(layer, parts);
}

/// Parts must split query heads evenly. With fewer key and value heads, each part has several of these heads,
/// or several parts share one.
Limit heads_limit(const Layer& attention, int layer, double p) {
  Limit heads{LimitRule::heads, p, attention.query_heads, layer};
  if (heads.holds() && attention.heads < attention.query_heads)
    heads.rule = LimitRule::kv_heads, heads.bound = attention.heads;
  return heads;
}

/// Heads limit a transformer, filters limit a convolutional network.
Limit limit(const Workload& work, const Parts& parts, double) {
  Limit heads;
  for (std::size_t i = 0; i < work.layers.size() && heads.holds(); ++i)
    if (const Layer& l = work.layers[i]; l.op == Op::attention)
      if (const Limit own = heads_limit(l, int(i), parts.total); heads.layer < 0 || !own.holds()) heads = own;
  if (heads.layer >= 0) return heads;
  const auto counts = [&](std::size_t i) {
    return can_cut(work, i) && sets_channel_limit(work, work.layers[i]);
  };
  return tightest(LimitRule::filters, parts.total, work, counts, [](const Layer& l) { return l.filters(); });
}

}  // namespace

extern constinit const Strategy tensor_strategy{
    .name = "tensor",
    .summary = "split filters and channels in turn on successive products",
    .input = Placement::replicated,
    .role = role,
    .limit = limit,
    .within = "data+layer",
    .pairs = true};

}  // namespace paradl
