// Expert parallelism: every GPU has some samples, as with `data`, and some experts of each layer that has
// experts. The router sends tokens to the GPU of their expert; the results come back (all-to-all).
#include <algorithm>

#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement incoming) {
  const Layer& layer = work.layers[i];
  if (layer.experts >= parts.total) return Role::expert;
  // Layers between the products of an expert work position by position; `combine` brings the tokens back.
  const bool between = incoming == Placement::split_expert && layer.op != Op::combine;
  return between && traits(layer.op).per_position ? Role::keep : Role::data;
}

/// There must be a sample for each GPU, and experts must split evenly.
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
