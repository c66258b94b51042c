#pragma once
#include <memory>

#include "paradl/cost/setting.hpp"
#include "paradl/spec/framework_spec.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {

/// A shipped network on a shipped system under a shipped framework, with layer times at peak rates.
struct ShippedCase {
  Workload work;
  Machine machine;
  std::shared_ptr<const Topology> topology;
  Training training;
  LayerTimes times;
  Setting setting() const { return {work, machine, times, training, topology}; }
};

/// Transformers are trained in fp16 with Adam, others in fp32 with momentum.
inline ShippedCase shipped_case(const char* model, const char* system, const char* framework) {
  ShippedCase c{.work = load_model(shipped(), model).second,
                .machine = build_machine(shipped().system(system)),
                .topology = {},
                .training = {},
                .times = {}};
  c.topology = topology_of(c.machine);
  c.training.framework = read_framework(shipped().find(SpecKind::frameworks, framework)).terms;
  if (c.work.tokens) c.training.precision = Precision::fp16, c.training.optimizer = Optimizer::adam;
  c.times = layer_times(c.work, c.machine, c.training.precision, c.training.optimizer);
  return c;
}

}  // namespace paradl::test
