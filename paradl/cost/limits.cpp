// The limits that a plan must keep.
#include <algorithm>

#include "paradl/cost/evaluator.hpp"

namespace paradl {
namespace {

/// Whether an axis splits the samples of a mini-batch.
bool shares_samples(const Axis& axis) { return axis.strategy->input == Placement::split_sample; }

/// The tightest limit on axes that split the same dimension together.
std::optional<Limit> tightest_shared_split(const Layout& layout, const Mesh& mesh) {
  std::optional<Limit> tightest;
  for (const Layout::SharedSplit& split : layout.shared_splits) {
    double parts = 1;
    for (int a = 0; a < mesh.axes; ++a)
      if (split.axes & axis_bit(a)) parts *= mesh.axis[std::size_t(a)].parts.total;
    if (!tightest || parts * tightest->bound > tightest->value * split.bound)
      tightest = {.rule = split.rule, .value = parts, .bound = split.bound, .layer = split.layer};
  }
  return tightest;
}

/// Sequence parallelism needs even parts of every sequence, or of the part of it that `context` leaves.
Limit sequence_limit(const Workload& work, int parts, int context) {
  Limit limit{.rule = context > 1 ? LimitRule::tensor_context : LimitRule::tensor_sequence,
              .value = double(parts),
              .bound = double(parts)};
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    if (work.layers[i].op != Op::attention) continue;
    limit.bound = work.layers[i].x.positions() / context, limit.layer = int(i);
    if (!limit.holds()) break;
  }
  return limit;
}

/// The limit of the requested allreduce, if it cannot sum the gradients of a group: the size of that group,
/// and the largest one it could sum. `why` gets the algorithm's own reason.
std::optional<Limit> allreduce_limit(const Layout& layout, const Plan& plan, const Setting& setting,
                                     std::string* why) {
  if (!plan.allreduce.algorithm) return {};
  for (const Layout::Gradients& kind : layout.gradients) {
    const Path path = group_path(plan.mesh, kind.summed, setting.machine);
    if (can_sum(path, setting, plan.allreduce)) continue;
    Job job = job_of(path, setting, plan.allreduce);
    const Algorithm& algorithm = *plan.allreduce.algorithm;
    if (why) *why = std::string(algorithm.name) + ": " + refusal(algorithm, job);
    const double ranks = job.ranks;
    while (job.ranks > 1 && !refusal(algorithm, job).empty())
      job.per_node = std::min(job.per_node, --job.ranks);
    return Limit{.rule = LimitRule::allreduce, .value = ranks, .bound = double(job.ranks)};
  }
  return {};
}

}  // namespace

Limits Evaluator::limits(const Plan& plan, std::string* refused) const {
  Limits out;
  add_axis_limits(plan, out);
  add_pipeline_limits(plan, out);
  if (out.hold()) add_layout_limits(plan, out, refused);
  return out;
}

void Evaluator::add_axis_limits(const Plan& plan, Limits& out) const {
  double samples = plan.batch;  // samples of one GPU after the axes so far
  for (int a = 0; a < plan.mesh.axes; ++a) {
    const Axis& axis = plan.mesh.axis[std::size_t(a)];
    out.add(shares_samples(axis) ? axis.strategy->limit(setting_.work, axis.parts, samples)
                                 : layouts_->limit(axis));
    if (shares_samples(axis)) samples /= axis.parts.total;
  }
}

void Evaluator::add_pipeline_limits(const Plan& plan, Limits& out) const {
  const double S = plan.micro_batches;
  if (S > 1) out.add({.rule = LimitRule::micro_batches, .value = S, .bound = local_samples(plan)});
  if (const double p = stages_of(plan.mesh, setting_.work), V = plan.chunks; p > 1 && V > 1) {
    out.add({.rule = LimitRule::interleaving, .value = p, .bound = S});
    out.add({LimitRule::chunked_layers, p * V, double(setting_.work.layers.size())});
  }
}

void Evaluator::add_layout_limits(const Plan& plan, Limits& out, std::string* refused) const {
  int context = 1;
  for (int a = 0; a < plan.mesh.axes; ++a)
    if (const Axis& axis = plan.mesh.axis[std::size_t(a)]; axis.strategy->input == Placement::split_space)
      context *= axis.parts.total;
  for (int a = 0; a < plan.mesh.axes && plan.sequence_parallel; ++a)
    if (const Axis& axis = plan.mesh.axis[std::size_t(a)]; axis.strategy->pairs)
      out.add(sequence_limit(setting_.work, axis.parts.total, context));
  if (!out.hold()) return;
  const Plan split = without_ones(plan);
  const Layout& placed = layout(split);
  if (const auto limit = tightest_shared_split(placed, split.mesh)) out.add(*limit);
  if (const auto limit = allreduce_limit(placed, split, setting_, refused)) out.add(*limit);
}

}  // namespace paradl
