// Filter parallelism: every GPU computes some of each layer's output channels.
#include "paradl/strategy/strategy.hpp"

namespace paradl {

namespace {

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement) {
  const Layer& layer = work.layers[i];
  const bool splits = is_dense_product(layer) || layer.op == Op::embedding;
  if (splits)
    return work.may_split(SplitBy::filter, i) && layer.filters() >= parts.total ? Role::filter : Role::whole;
  return keep_channels(layer, parts);
}

Limit limit(const Workload& work, const Parts& parts, double) {
  const auto counts = [&](std::size_t i) {
    return work.may_split(SplitBy::filter, i) && sets_channel_limit(work, work.layers[i]);
  };
  return tightest(LimitRule::filters, parts.total, work, counts, [](const Layer& l) { return l.filters(); });
}

}  // namespace

extern constinit const Strategy filter_strategy{
    .name = "filter",
    .summary = "split the output channels of each layer",
    .input = Placement::replicated,
    .role = role,
    .limit = limit};

}  // namespace paradl
