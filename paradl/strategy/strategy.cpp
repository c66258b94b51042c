#include "paradl/strategy/strategy.hpp"

namespace paradl {

int stages_of(const Mesh& mesh, const Workload& work) {
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (axis.strategy->role(work, 0, axis.parts, Placement::replicated) == Role::stage)
      return axis.parts.total;
  }
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
