// Channel parallelism: every GPU reads some of each layer's input channels; the outputs of all are summed.
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

bool can_cut(const Workload& work, std::size_t i) {
  return is_dense_product(work.layers[i]) && work.may_split(SplitBy::channel, i);
}

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement) {
  const Layer& layer = work.layers[i];
  if (is_dense_product(layer))
    return can_cut(work, i) && layer.channels() >= parts.total ? Role::channel : Role::whole;
  return keep_channels(layer, parts);
}

/// The paper leaves the first layer out: images have three channels, and if these are too few, that layer
/// runs whole. If the first layer is the only convolution (ViT's patches), the matrix products set the limit.
Limit limit(const Workload& work, const Parts& parts, double) {
  const auto bound_by = [&](auto counts) {
    return tightest(
        LimitRule::channels, parts.total, work,
        [&](std::size_t i) { return can_cut(work, i) && counts(work.layers[i]); },
        [](const Layer& l) { return l.channels(); });
  };
  Limit limit = bound_by([&](const Layer& l) { return !l.first() && sets_channel_limit(work, l); });
  if (limit.layer < 0) limit = bound_by([](const Layer& l) { return !l.first(); });
  if (limit.layer < 0) limit = bound_by([](const Layer&) { return true; });
  return limit;
}

}  // namespace

extern constinit const Strategy channel_strategy{
    .name = "channel",
    .summary = "split the input channels of each layer",
    .input = Placement::replicated,
    .role = role,
    .limit = limit,
    .sums_inputs = true};

}  // namespace paradl
