// How a query trains: as it says, else as the framework does by default, else the general default.
#include <fmt/format.h>

#include "paradl/query/case.hpp"

namespace paradl {
namespace {

/// The query's value, else the framework's, else `otherwise`.
template <class T>
T chosen(const Given<T>& asked, const std::optional<T>& framework, T otherwise) {
  return asked.value_or(framework.value_or(otherwise));
}

InputPlan input_of(const Query& query, const FrameworkSpec& framework) {
  const InputPlan plan{.from = query.input.value_or(InputFrom::none),
                       .readers = query.staging.value_or(Readers::leader),
                       .prefetch = chosen(query.prefetch, framework.prefetch, true),
                       .shuffle = query.shuffle.value_or(Shuffle{})};
  const auto refuse_idle = [&](const char* name, bool typed) {
    if (typed && plan.from == InputFrom::none)
      throw UsageError(fmt::format("--{} has no effect without --input", name),
                       "add --input node or --input shared");
  };
  refuse_idle("staging", query.staging.typed());
  refuse_idle("prefetch", query.prefetch.typed());
  refuse_idle("shuffle", query.shuffle.typed());
  if (plan.from == InputFrom::shared && query.shuffle.typed())
    throw UsageError("--shuffle sets which samples are on which node, but shared storage has all of them",
                     "use --input node, or leave --shuffle out");
  return plan;
}

}  // namespace

Plan plan_of(const Query& query, const Plan& otherwise) {
  Plan p = otherwise;
  if (query.micro_batches) p.micro_batches = *query.micro_batches;
  if (query.schedule) p.schedule = query.schedule->schedule, p.chunks = query.schedule->chunks;
  if (query.recompute) p.recompute = query.recompute->kind, p.recomputed_blocks = query.recompute->blocks;
  if (query.zero) p.zero = *query.zero;
  if (query.sequence_parallel) p.sequence_parallel = *query.sequence_parallel;
  if (query.allreduce) p.allreduce = {query.allreduce->algorithm, query.allreduce->density};
  return p;
}

Training training_of(const Query& query, const FrameworkSpec& framework) {
  Training t{.framework = framework.terms};
  t.transport = chosen(query.transport, framework.transport, Transport::gpu);
  t.precision = chosen(query.precision, framework.precision, Precision::fp32);
  t.optimizer = chosen(query.optimizer, framework.optimizer, Optimizer::momentum);
  t.reduction = chosen(query.reduction, framework.reduction, Reduction::allreduce);
  t.overlap = chosen(query.overlap, framework.overlap, true);
  if (framework.equal_stages) t.stage_cut = StageCut::equal_blocks;
  t.whole_sums = query.reduction.typed() && t.reduction == Reduction::allreduce;
  t.synchronised_batch_norm = query.synchronised_batch_norm.value_or(false);
  t.ceil_iterations = query.ceil_iterations.value_or(false);
  t.short_gradients = query.short_gradients.value_or(false);
  t.reserve = query.reserve.value_or(Bytes{});
  t.fragmentation = query.fragmentation.value_or(0);
  if (query.gamma) t.gamma = *query.gamma;
  t.convolutions = chosen(query.convolutions, framework.convolutions, ConvolutionPolicy{});
  t.input = input_of(query, framework);
  return t;
}

}  // namespace paradl
