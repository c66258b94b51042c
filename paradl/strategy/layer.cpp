// Layer (pipeline) parallelism: consecutive layers form a stage, and each stage has its own GPU.
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

Role role(const Workload&, std::size_t, const Parts&, Placement) { return Role::stage; }

Limit limit(const Workload& work, const Parts& parts, double) {
  return {.rule = LimitRule::layers, .value = double(parts.total), .bound = double(work.layers.size())};
}

}  // namespace

extern constinit const Strategy layer_strategy{"layer", "split the network into stages; pass activations on",
                                               Placement::replicated, role, limit};

}  // namespace paradl
