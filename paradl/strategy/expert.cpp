// Expert parallelism: every PE has some samples, as with `data`, and some of the experts of each layer that
// has several. What a router chose goes to the PE of its expert and comes back (all-to-all).
#include <algorithm>

#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement incoming) {
  const Layer& layer = work.layers[i];
  if (layer.experts >= parts.total) return Role::expert;
  // Between the products of an expert lies what works position by position; `combine` brings everything back.
  const bool between = incoming == Placement::split_expert && layer.op != Op::combine;
  return between && traits(layer.op).per_position ? Role::keep : Role::data;
}

/// Experts come out even; samples are enough.
Limit limit(const Workload& work, const Parts& parts, double batch) {
  const double p = parts.total;
  if (p > batch && batch > 0) return {.rule = LimitRule::samples, .value = p, .bound = batch};
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    if (const double experts = work.layers[i].experts; experts > 0)
      return {.rule = LimitRule::experts, .value = p, .bound = experts, .layer = int(i)};
  return {.rule = LimitRule::expert_layers, .value = p, .bound = 1};
}

}  // namespace

extern constinit const Strategy expert_strategy{
    .name = "expert",
    .summary = "split the experts of a layer; send samples to them",
    .input = Placement::split_sample,
    .role = role,
    .limit = limit,
    .usual = false};

}  // namespace paradl
