// Context parallelism: every GPU has a part of each sequence. Layers that work position by position need no
// communication. In attention, keys and values travel around a ring of GPUs while each GPU works on the block
// that it has (ring attention, Liu et al. 2023). A part of a causal sequence has positions from both ends, so
// that all GPUs have the same amount of work.
#include <algorithm>

#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

bool can_cut(const Layer& layer) {
  const bool by_position = traits(layer.op).per_position && !is_view(layer.op);
  return layer.x.dims == 1 && (by_position || layer.op == Op::attention);
}

Role role(const Workload& work, std::size_t i, const Parts& parts, Placement) {
  const Layer& l = work.layers[i];
  return can_cut(l) && std::min(l.x.positions(), l.y.positions()) >= parts.total ? Role::spatial
                                                                                 : Role::whole;
}

/// The first sequence that does not split evenly, else the first sequence.
Limit limit(const Workload& work, const Parts& parts, double) {
  Limit length{.rule = LimitRule::sequence, .value = double(parts.total), .bound = double(parts.total)};
  for (std::size_t i = 0; i < work.layers.size() && length.holds(); ++i)
    if (const Layer& l = work.layers[i]; l.op == Op::attention && l.x.dims == 1)
      for (const double positions : {l.x.positions(), l.kv_length})
        if (length.layer < 0 || std::fmod(positions, parts.total) != 0)
          length = {LimitRule::sequence, double(parts.total), positions, int(i)};
  if (length.layer < 0) return {.rule = LimitRule::attention, .value = double(parts.total), .bound = 1};
  return length;
}

}  // namespace

extern constinit const Strategy context_strategy{
    .name = "context",
    .summary = "split every sequence; keys and values travel around a ring",
    .input = Placement::split_space,
    .role = role,
    .limit = limit,
    .usual = false};

}  // namespace paradl
