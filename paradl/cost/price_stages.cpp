// One iteration on one stage, and on a pipeline of them.
#include <algorithm>

#include "paradl/cost/price.hpp"

namespace paradl {

void Pricer::price_single(const Layout& layout, Breakdown& out) const {
  const double S = setting_.training.micro_batches;
  CellCost sum;
  std::array<Bytes, most_gradient_groups> gradient{};
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    const CellCost& cost = cells_[i];
    sum.forward += cell.count * cost.forward;
    sum.backward += cell.count * cost.backward;
    sum.forward_exchange += cell.count * (cost.forward_exchange + cost.backward_exchange);
    sum.forward_halo += cell.count * (cost.forward_halo + cost.backward_halo);
    sum.update += cell.count * cost.update;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) gradient[g] += cell.count * cost.gradient;
  }
  out[Term::forward] = S * sum.forward;
  out[Term::backward] = S * sum.backward;
  out[Term::update] = sum.update;
  out[Term::activation_exchange] = S * sum.forward_exchange;
  out[Term::halo_exchange] = S * sum.forward_halo;

  Seconds whole;
  for (std::size_t g = 0; g < gradients_; ++g)
    if (gradient[g] > Bytes{}) whole += gradient_[g].allreduce(gradient[g]);
  if (whole > Seconds{}) whole += packing_of(layout);
  if (!setting_.training.overlap || !(whole > Seconds{})) {
    out[Term::gradient_exchange] = whole;
    return;
  }
  // Sent in pieces, gradients hide behind the backward pass but pay for more messages: where small pieces
  // cost more than they hide, larger ones are tried, up to one for all.
  Bytes total, bucket = setting_.training.bucket;
  for (const Bytes part : gradient) total += part;
  Seconds tail = gradient_tail(layout, bucket);
  while (tail >= whole && bucket < total) tail = gradient_tail(layout, bucket *= 4);
  out[Term::gradient_exchange] = std::min(tail, whole);
  out.hidden = whole - out[Term::gradient_exchange];
}

Pricer::Transfer Pricer::transfer(const StageKind& kind, double samples) const {
  if (kind.sent.empty()) return {};
  Bytes sent;
  for (const Kept& tensor : kind.sent)
    sent +=
        tensor.items * samples / parts_[tensor.divided] * item_bytes(setting_.training.precision).activation;
  const Hop& hop = stage_path_.outermost();
  return {sent, stage_message_(sent), hop};
}

void Pricer::price_pipeline(const Layout& layout, const StagePlan& plan, double samples,
                            Breakdown& out) const {
  const double S = setting_.training.micro_batches;
  const bool together = setting_.training.schedule == PipelineSchedule::one_forward_one_backward;

  struct Pass {
    Seconds work, exchange, halo, transfer;
    Seconds total() const { return work + exchange + halo + transfer; }
    void add(double k, const Pass& p) {
      work += k * p.work, exchange += k * p.exchange, halo += k * p.halo, transfer += k * p.transfer;
    }
  };
  Pass sum_forward, sum_backward, longest_forward, longest_backward;
  Seconds update, all_updates, gradient_exposed, gradient_whole;
  for (const StageKind& kind : plan.kinds) {
    Pass forward, backward;
    Seconds own_update;
    std::array<Bytes, most_gradient_groups> gradient{};
    for (const auto& [id, count] : kind.cells) {
      const CellCost& cost = cells_[std::size_t(id)];
      forward.add(count, {cost.forward, cost.forward_exchange, cost.forward_halo, {}});
      backward.add(count, {cost.backward, cost.backward_exchange, cost.backward_halo, {}});
      own_update += count * cost.update;
      for (std::size_t g = 0; g < gradients_; ++g)
        if (gradient_[g].has(layout.cells[std::size_t(id)])) gradient[g] += count * cost.gradient;
    }
    forward.transfer = backward.transfer = transfer(kind, samples).time;
    sum_forward.add(kind.count, forward);
    sum_backward.add(kind.count, backward);
    const bool longer =
        together ? forward.total() + backward.total() > longest_forward.total() + longest_backward.total()
                 : forward.total() > longest_forward.total();
    if (longer) longest_forward = forward;
    if (together ? longer : backward.total() > longest_backward.total()) longest_backward = backward;
    update = std::max(update, own_update);
    all_updates += kind.count * own_update;

    Seconds whole;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient[g] > Bytes{}) whole += gradient_[g].allreduce(gradient[g]);
    gradient_whole = std::max(gradient_whole, whole);
    gradient_exposed = std::max(
        gradient_exposed, setting_.training.overlap ? hidden_tail(gradient, whole, backward.total()) : whole);
  }

  // The first micro-batch climbs through all stages, the other S-1 follow at the pace of the slowest: for
  // equal stages this is the paper's (p + S - 1) passes and p + S - 2 transfers.
  Pass forward = sum_forward, backward = sum_backward;
  forward.add(S - 1, longest_forward);
  backward.add(S - 1, longest_backward);
  out[Term::forward] = S * longest_forward.work;
  out[Term::backward] = S * longest_backward.work;
  out[Term::bubble] = forward.work + backward.work - out[Term::forward] - out[Term::backward];
  out[Term::activation_exchange] = forward.exchange + backward.exchange;
  out[Term::halo_exchange] = forward.halo + backward.halo;
  out[Term::stage_transfer] = forward.transfer + backward.transfer;
  // Without micro-batches nothing overlaps: one stage works at a time, in its update too (the paper's pure
  // form).
  out[Term::update] = S > 1 ? update : all_updates;
  out[Term::gradient_exchange] = gradient_exposed;
  out.hidden = gradient_whole - gradient_exposed;
}

}  // namespace paradl
