// Data parallelism: every GPU holds the whole model and B/p samples of each mini-batch.
#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

Role role(const Workload&, std::size_t, const Parts&, Placement) { return Role::data; }

Limit limit(const Workload&, const Parts& parts, double batch) {
  return {.rule = LimitRule::samples, .value = double(parts.total), .bound = batch};
}

}  // namespace

extern constinit const Strategy data_strategy{
    .name = "data",
    .summary = "split the mini-batch; replicate the model",
    .input = Placement::split_sample,
    .role = role,
    .limit = limit,
    .outer = true};

}  // namespace paradl
