// One iteration: on one stage, and on a pipeline of them.
#include "paradl/cost/price.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace paradl {
namespace {

using Gradients = std::array<Bytes, most_gradient_groups>;

/// Packing for the tensors of a stage; what it costs for their bytes is part of sending them.
Seconds packing(const Tables& t, const LayerSums& kind) {
  const Seconds each = t.setting().training.framework.tensor;
  if (!(each > Seconds{})) return {};
  Seconds out;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g)
    if (const GradientGroup& group = t.gradients.groups[g]; group.path.size() > 1)
      out += group.packs * kind.tensors[g] * each;
  return out;
}

/// The sums of all gradients of a stage, one after the other.
Seconds whole_sum(const Tables& t, const LayerSums& kind) {
  Seconds out = packing(t, kind);
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g)
    if (kind.gradient[g] > Bytes{}) out += t.gradients.groups[g].allreduce(kind.gradient[g]);
  return out;
}

/// What a stage's gradients need after the backward pass of its last micro-batch: in n pieces they pay for n
/// messages, and the last can only follow that pass.
Seconds hidden_tail(const Tables& t, const Gradients& gradient, Seconds whole, Seconds backward) {
  Seconds best = whole;
  for (double pieces = 1 << 10; pieces > 1; pieces /= 4) {
    Seconds all, last;
    for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) {
      if (!(gradient[g] > Bytes{})) continue;
      const double n = std::clamp(std::floor(gradient[g] / t.setting().training.bucket), 1.0, pieces);
      last = t.gradients.groups[g].allreduce(gradient[g] / n);
      all += n * last;
    }
    best = std::min(best, std::max(all - backward, last));
  }
  return best;
}

/// Single stage: sent in pieces, gradients hide behind the backward pass but pay for more messages. Where small
/// pieces cost more than they hide, larger ones are tried, up to one for all.
GradientTime single_sum(const Tables& t) {
  const LayerSums& kind = t.sums.kinds.front();
  const Seconds whole = whole_sum(t, kind);
  if (!t.setting().training.overlap || !(whole > Seconds{})) return {whole, whole};
  Bytes total, bucket = t.setting().training.bucket;
  for (const Bytes part : kind.gradient) total += part;
  Seconds tail = gradient_tail(t, bucket);
  while (tail >= whole && bucket < total) tail = gradient_tail(t, bucket *= 4);
  return {std::min(tail, whole), whole};
}

void price_single(const Tables& t, const Plan& plan, Cost& out) {
  const double S = plan.micro_batches;
  const LayerSums& kind = t.sums.kinds.front();
  out[Term::forward] = S * kind.forward;
  out[Term::backward] = S * kind.backward;
  out[Term::update] = kind.updated(plan.zero);
  out[Term::activation_exchange] = S * kind.exchange;
  out[Term::halo_exchange] = S * kind.halo;
  const GradientTime sums = single_sum(t);
  out[Term::gradient_exchange] = sums.exposed;
  out.hidden = sums.whole - sums.exposed;
}

/// What two stages that use the same weights need to sum their gradients.
Seconds tied_sum(const Tables& t, const StagePlan::Tied& tied) {
  return t.links.cost_of(Collective::allreduce,
                         t.mesh.tied_path())(t.passes.cells[std::size_t(tied.cell)].gradient);
}

/// What the stages of each kind sum after their last backward pass.
void sum_gradients(const Tables& t, std::vector<GradientTime>& sums) {
  sums.clear();
  for (std::size_t k = 0; k < t.sums.kinds.size(); ++k) {
    const LayerSums& kind = t.sums.kinds[k];
    Seconds backward;
    for (const int piece : t.stages.kinds[k].piece) backward += t.sums.pieces[std::size_t(piece)].backward_pass;
    const Seconds whole = whole_sum(t, kind);
    sums.push_back(
        {t.setting().training.overlap ? hidden_tail(t, kind.gradient, whole, backward) : whole, whole});
  }
}

/// The schedule is executed with and without messages. The busiest stage works all the time that its passes
/// take; the rest of the time without messages it waits for others; what messages add is theirs. So the terms
/// sum to what was executed.
void price_pipeline(const Tables& t, const Plan& plan, Scratch& scratch, Cost& out) {
  const double S = plan.micro_batches;
  sum_gradients(t, scratch.sums);
  const LayerSums& busiest = *std::ranges::max_element(t.sums.kinds, {}, &LayerSums::passes);
  const auto [executed, silent] = t.schedule.time;
  out[Term::forward] = S * busiest.forward;
  out[Term::backward] = S * busiest.backward;
  out[Term::activation_exchange] = S * busiest.exchange;
  out[Term::halo_exchange] = S * busiest.halo;
  out[Term::bubble] = std::max(Seconds{}, silent - S * busiest.passes());
  out[Term::stage_transfer] = executed - silent;

  // A stage sums its gradients and updates its weights as soon as its last backward pass is over: those that
  // are done early do so while others still work. Two that share weights wait for each other. Times count
  // from the end of the schedule. Of a run of equal stages the first is done last.
  Seconds gradient_whole, all_updates;
  for (std::size_t k = 0; k < t.sums.kinds.size(); ++k) {
    gradient_whole = std::max(gradient_whole, scratch.sums[k].whole);
    all_updates += t.stages.kinds[k].count * t.sums.kinds[k].updated(plan.zero);
  }
  std::vector<Seconds>& after = scratch.run_end;
  after.assign(t.schedule.run_end.begin(), t.schedule.run_end.end());
  const auto kind_of = [&](std::size_t run) { return std::size_t(t.stages.runs[run].kind); };
  for (std::size_t r = 0; r < after.size(); ++r) after[r] += scratch.sums[kind_of(r)].exposed - executed;
  for (const StagePlan::Tied& tied : t.stages.tied) {
    Seconds& owner = after[std::size_t(t.stages.run_of(tied.owner))];
    Seconds& user = after[std::size_t(t.stages.run_of(tied.user))];
    const Seconds sum = tied_sum(t, tied);
    gradient_whole += sum;
    owner = user = std::max(owner, user) + sum;
  }
  Seconds latest, gradient;
  for (std::size_t r = 0; r < after.size(); ++r) {
    const Seconds updated = after[r] + t.sums.kinds[kind_of(r)].updated(plan.zero);
    if (updated <= latest) continue;
    latest = updated;
    gradient = after[r] > 1e-13 * executed ? after[r] : Seconds{};  // what is less is rounding
  }
  // Without micro-batches nothing overlaps: one stage works at a time, in its update too (the paper's pure
  // form).
  out[Term::update] = S > 1 ? latest - gradient : all_updates;
  out[Term::gradient_exchange] = gradient;
  out.hidden = std::max(Seconds{}, gradient_whole - gradient);
}

/// Passes that run again are priced as part of the backward pass, in which the slowest stage sets the pace;
/// here they get a term of their own.
void show_recomputation(const Tables& t, Cost& out) {
  Seconds most, again;
  for (const LayerSums& kind : t.sums.kinds)
    if (kind.arithmetic > most) most = kind.arithmetic, again = kind.recompute;
  if (!(again > Seconds{})) return;
  out[Term::recompute] = again / most * out[Term::backward];
  out[Term::backward] = out[Term::backward] - out[Term::recompute];
}

/// Messages that run ahead of the work that needs them: the first is waited for, the others hide behind it.
Seconds exposed_of(Seconds first, Seconds all, Seconds work, bool overlap) {
  return overlap ? std::max(first, all - work) : all;
}

/// Every weight tensor is gathered by itself before each forward and each backward pass, and once more where
/// that computes the forward pass again; its gradient is scattered. All of it runs beside the layers and
/// takes from them what it needs, so that neither hides behind the other:
///
///     forward: sqrt(FW^2 + G^2),  backward: sqrt(BW^2 + (2 or 3 G)^2),  G = sum over tensors (p-1)(alpha +
///     W/p beta)
///
/// Tensors below a threshold stay on every GPU.
void gather_by_tensor(const Tables& t, const Plan& plan, Cost& out) {
  constexpr double kept = 1e5;  // items: DeepSpeed's threshold
  const double S = plan.micro_batches;
  const Bytes weight = t.setting().training.bytes().weight;
  Seconds forward, backward, once, again;
  for (std::size_t i = 0; i < t.layout.cells.size(); ++i) {
    const Cell& cell = t.layout.cells[i];
    const CellCost& cost = t.passes.cells[i];
    forward += cell.count * cost.forward_pass();
    backward += cell.count * cost.backward_pass();
    if (cost.weights < kept || cell.gradients < 0) continue;
    const Seconds each =
        cell.count * t.gradients.groups[std::size_t(cell.gradients)].gather(cost.weights * weight);
    once += each;
    if (cell.recomputed) again += each;
  }
  const auto exposed = [](Seconds work, Seconds wire) {
    return Seconds{std::hypot(work.base(), wire.base())} - work;
  };
  const Seconds waits = exposed(forward, once) + exposed(backward, 2 * once + again);
  out[Term::gradient_exchange] = S * waits;
  out.hidden = S * (3 * once + again - waits);
}

/// ZeRO 1 and 2 gather the updated weights once; 3 gathers them before each forward and each backward pass.
/// Where gradients are sharded, too (2, 3), those of every micro-batch are scattered.
void add_weight_gathers(const Tables& t, const Plan& plan, Cost& out) {
  const Training& training = t.setting().training;
  if (gathers_by_tensor(training, plan.zero) && t.stages.stages == 1) return gather_by_tensor(t, plan, out);
  const double S = plan.micro_batches;
  if (plan.zero >= 2) {
    out[Term::gradient_exchange] = S * out[Term::gradient_exchange];
    out.hidden = S * out.hidden;
  }
  Seconds exposed, hidden;
  for (const LayerSums& kind : t.sums.kinds) {
    Seconds first, all, once;
    for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) {
      const Bytes weights = kind.weights[g] * training.bytes().weight;
      if (!(weights > Bytes{})) continue;
      const double pieces = std::max(1.0, std::floor(weights / training.bucket));
      const MessageCost& gather = t.gradients.groups[g].gather;
      const Seconds each = gather(weights / pieces);
      first += each, all += pieces * each, once += gather(weights);
    }
    Seconds own = once, own_hidden;
    if (plan.zero == 3) {
      // In one piece, or in pieces behind the work, whichever is faster.
      const auto gathered = [&](Seconds work) {
        return std::min(once, exposed_of(first, all, work, training.overlap));
      };
      own = S * (gathered(kind.forward_passes) + gathered(kind.backward_passes));
      own_hidden = std::max(Seconds{}, 2 * S * once - own);
    }
    if (own >= exposed) exposed = own, hidden = own_hidden;
  }
  out[Term::gradient_exchange] += exposed;
  out.hidden += hidden;
}

/// What exchanges are given at the end of an iteration, and weights that ZeRO gathers.
Bytes gradient_traffic(const Tables& t, const Plan& plan) {
  const double S = plan.micro_batches;
  const ItemBytes bytes = t.setting().training.bytes();
  Bytes out = t.sums.copied;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) {
    if (!(t.gradients.groups[g].path.size() > 1)) continue;
    const Bytes gradients = t.sums.gradient[g];
    out += (plan.zero >= 2 ? S : 1) * gradients;
    if (plan.zero == 0) continue;
    const double weights = bytes.weight / bytes.sent_gradient;  // bytes, over those of their gradients
    out += (plan.zero >= 3 ? 2 * S : 1) * weights * gradients;
    if (gathers_by_tensor(t.setting().training, plan.zero) && t.stages.stages == 1)
      out += S * weights * t.sums.recomputed[g];
  }
  for (const StagePlan::Tied& tied : t.stages.tied) out += t.passes.cells[std::size_t(tied.cell)].gradient;
  return out;
}

/// Between stages, forward and backward.
Bytes transfer_traffic(const Tables& t, const Plan& plan) {
  Bytes out;
  for (const StageKind& kind : t.stages.kinds)
    for (const int piece : kind.piece)
      out += 2.0 * plan.micro_batches * kind.count * t.sums.pieces[std::size_t(piece)].sent.bytes;
  return out;
}

void add_memory(const Tables& t, const Plan& plan, Cost& out) {
  for (std::size_t k = 0; k < t.stages.kinds.size(); ++k) {
    const Memory memory = memory_of(t.sums.kinds[k].held, t.layout, t.mesh, t.gradients.sends, plan,
                                    t.schedule.in_flight[k]);
    if (memory.total() > out.memory.total()) {
      out.memory = memory;
      out.worst_stage = t.stages.kinds[k].first;
    }
  }
}

}  // namespace

ScheduleTable::ScheduleTable(const StagePlan& stages, const StageTable& sums, const MeshTable& mesh,
                             const Plan& plan, PipelineScratch& scratch, std::pmr::memory_resource* memory)
    : run_end(memory), in_flight(memory) {
  in_flight.reserve(stages.kinds.size());
  for (const StageKind& kind : stages.kinds)
    in_flight.push_back(paradl::in_flight(sums, kind, stages.stages, mesh, plan));
  if (stages.stages == 1) return;
  const auto chunks = std::size_t(stages.chunks);
  std::pmr::vector<PieceTime> pieces(memory);  // kind by kind
  pieces.reserve(stages.kinds.size() * chunks);
  for (const StageKind& kind : stages.kinds)
    for (const int number : kind.piece) {
      const PieceSums& piece = sums.pieces[std::size_t(number)];
      pieces.push_back({piece.forward_pass, piece.backward_pass, piece.sent.time});
    }
  std::pmr::vector<StageRun> runs(memory);
  runs.reserve(stages.runs.size());
  for (const StagePlan::Run& run : stages.runs)
    runs.push_back({run.count, std::span(pieces).subspan(std::size_t(run.kind) * chunks, chunks)});
  run_end.resize(runs.size());
  time = pipeline_end(plan.pipeline(stages.stages), runs, run_end, scratch);
}

std::vector<PieceTime> piece_times(const StagePlan& plan, const StageTable& table) {
  const auto stages = std::size_t(plan.stages), chunks = std::size_t(plan.chunks);
  std::vector<PieceTime> pieces;
  for (std::size_t c = 0; c < chunks; ++c)
    for (std::size_t s = 0; s < stages; ++s) {
      const StageKind& kind = plan.kinds[std::size_t(plan.kind[s])];
      const PieceSums& sums = table.pieces[std::size_t(kind.piece[c])];
      pieces.push_back({sums.forward_pass, sums.backward_pass, sums.sent.time});
    }
  return pieces;
}

Cost price(const Tables& t, const Plan& plan, Scratch& scratch) {
  Cost out;
  if (t.stages.stages == 1)
    price_single(t, plan, out);
  else
    price_pipeline(t, plan, scratch, out);
  Seconds copies;  // of the stage that has most of them
  for (const LayerSums& kind : t.sums.kinds) copies = std::max(copies, kind.copies);
  out[Term::gradient_exchange] += copies;
  show_recomputation(t, out);
  if (plan.zero > 0) add_weight_gathers(t, plan, out);
  out.hidden += plan.micro_batches * t.sums.hidden;
  // What is left where nothing hides is rounding.
  if (constexpr double rounding = 1e-9; out.hidden < rounding * out.communication()) out.hidden = {};
  add_memory(t, plan, out);
  out.traffic = plan.micro_batches * t.sums.traffic + gradient_traffic(t, plan) + transfer_traffic(t, plan);
  return out;
}

}  // namespace paradl
