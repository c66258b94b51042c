// Options that have no effect here, and options that contradict each other.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/query/loading.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

bool attends(const Layer& layer) { return layer.op == Op::attention; }

void check_recomputation(const Query& query, const Case& about) {
  const Plan& plan = about.plan;
  const auto refuse = [&](const std::string& what, const std::string& help) {
    blame({query.recompute.origin()}, UsageError(what, help));
  };
  const std::string& name = about.work.name;
  const auto keeps_scores = [](const Layer& layer) { return layer.scores > 0; };
  if (plan.recompute == Recompute::selective && std::ranges::none_of(about.work.layers, keeps_scores))
    refuse(fmt::format("{} stores no attention scores, so there is nothing for --recompute selective to drop",
                       name),
           "try --recompute full, or leave it out");
  const auto blocks = int(recomputable_blocks(about.work).size());
  if (plan.recompute == Recompute::full && blocks == 0)
    refuse(fmt::format("{} has no blocks that could be recomputed", name), "leave --recompute out");
  if (plan.recomputed_blocks > blocks)
    refuse(fmt::format("--recompute: {} has {} blocks, not {}", name, blocks, plan.recomputed_blocks),
           fmt::format("write a number up to {}", blocks));
}

/// The device's memory as it was typed, if it was.
std::string memory_text(const Case& about) {
  std::string out = text(about.machine.device.memory);
  for (const Override& change : about.system_changes)
    if (change.path == "device.memory")
      out = change.factor() ? text(about.machine.device.memory) : change.text();
  return out;
}

void check_training(const Query& query, const Case& about) {
  const Training& t = about.training;
  const Plan& plan = about.plan;
  using Origins = std::initializer_list<OriginPtr>;
  const auto refuse = [](Origins origins, const std::string& what, const std::string& help) {
    blame(origins, UsageError(what, help));
  };
  const std::string& name = about.work.name;
  const bool attention = std::ranges::any_of(about.work.layers, attends);
  if (query.flash.typed() && !attention)
    refuse({}, fmt::format("{} has no attention", name), "leave --flash out");
  check_recomputation(query, about);
  if (plan.sequence_parallel && !attention)
    refuse({query.sequence_parallel.origin()}, fmt::format("samples of {} are not sequences", name),
           "leave --sequence-parallel out");
  if (plan.sequence_parallel && t.whole_sums)
    refuse({query.sequence_parallel.origin(), query.reduction.origin()},
           "sequence parallelism scatters sums over the sequence, which contradicts --reduction allreduce",
           "leave one of them out");
  if (t.reserve >= about.machine.device.memory)
    refuse({query.reserve.origin()},
           fmt::format("--reserve must be less than the device's memory ({})", memory_text(about)),
           "write less, such as 1GiB");
  if (plan.zero > 0 && plan.allreduce.algorithm)
    refuse({query.zero.origin(), query.allreduce.origin()},
           "ZeRO sums gradients with a reduce-scatter, so --allreduce has no effect",
           "leave --allreduce out, or use --zero 0");
  if (t.short_gradients && !(item_bytes(t.precision).master > Bytes{}))
    refuse({query.short_gradients.origin(), query.precision.origin()},
           fmt::format("--gradients fp16 is for mixed precision, not {}",
                       precision_names[std::size_t(t.precision)]),
           "add --precision fp16 or bf16");
  if (const Algorithm* sum = plan.allreduce.algorithm; sum && sum->on_wires && !about.topology)
    blaming({query.allreduce.origin()},
            [&] { paradl::refuse(fmt::format("{}: {}", sum->name, refusal(*sum, {.ranks = 2}))); });
}

/// What the paper's closed forms have no term for.
void check_closed_forms(const Query& query, const Case& about) {
  const Plan& plan = about.plan;
  const OriginPtr& paper = query.fidelity.origin();
  if (about.training.input.from != InputFrom::none)
    blame({query.input.origin(), paper}, UsageError("the paper's closed forms have no term for input",
                                                    "leave --input out, or --fidelity paper"));
  if (plan.zero > 0 || plan.sequence_parallel || plan.recompute != Recompute::none)
    blame({query.zero.origin(), query.sequence_parallel.origin(), query.recompute.origin(), paper},
          UsageError("the paper's closed forms have no terms for ZeRO, sequence parallelism or recomputation",
                     "leave --fidelity paper out"));
  if (plan.chunks > 1)
    blame({query.schedule.origin(), paper},
          UsageError("the paper's closed form of a pipeline is for GPipe only",
                     "leave --schedule out, or --fidelity paper"));
  if (plan.allreduce.algorithm)
    blame({query.allreduce.origin(), paper},
          UsageError("the paper's closed forms have their own allreduce, a ring",
                     "leave --allreduce out, or --fidelity paper"));
  const auto refuse_typed = [&](const char* name, bool typed) {
    if (typed)  // a measured run may have had it
      blame({paper}, UsageError(fmt::format("the paper's closed forms have no term for --{}", name),
                                fmt::format("leave --{} out, or --fidelity paper", name)));
  };
  refuse_typed("reserve", query.reserve.typed());
  refuse_typed("fragmentation", query.fragmentation.typed());
  refuse_typed("transport", query.transport.typed());
  refuse_typed("batch-norm", query.synchronised_batch_norm.typed());
}

}  // namespace

void check_conflicts(const Query& query, const Case& about) {
  check_training(query, about);
  if (about.fidelity == Fidelity::paper) check_closed_forms(query, about);
}

}  // namespace paradl
