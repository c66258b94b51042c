#include "paradl/strategy/strategy.hpp"

namespace paradl {

bool splits_network(const Axis& axis) { return !is_split(axis.strategy->input); }

bool is_pipeline(const Axis& axis, const Workload& work) {
  return axis.strategy->role(work, 0, axis.parts, axis.strategy->input) == Role::stage;
}

bool splits_channels(const Axis& axis, const Workload& work) {
  return splits_network(axis) && !is_pipeline(axis, work);
}

bool has_ring(const Axis& axis, const Workload& work) {
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    if (work.layers[i].op == Op::attention &&
        axis.strategy->role(work, i, axis.parts, axis.strategy->input) == Role::spatial)
      return true;
  return false;
}

int stages_of(const Mesh& mesh, const Workload& work) {
  for (const Axis& axis : mesh.all())
    if (is_pipeline(axis, work)) return axis.parts.total;
  return 1;
}

bool is_dense_product(const Layer& layer) { return traits(layer.op).product && !layer.depthwise(); }

bool sets_channel_limit(const Workload& work, const Layer& layer) {
  return is_dense_product(layer) && (layer.op == Op::conv) == work.convolutional;
}

Role keep_channels(const Layer& layer, const Parts& parts) {
  bool enough = true;
  if (layer.op == Op::attention) enough = layer.heads >= parts.total;
  if (layer.op == Op::group_norm || layer.depthwise()) enough = layer.groups >= parts.total;
  const bool by_channel = traits(layer.op).per_channel || layer.op == Op::group_norm || layer.depthwise();
  return by_channel && enough && !layer.wants_whole ? Role::keep : Role::whole;
}

}  // namespace paradl
