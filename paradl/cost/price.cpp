// The cost of one iteration, on a single stage and on a pipeline.
#include "paradl/cost/price.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace paradl {
namespace {

using Gradients = std::array<Bytes, most_gradient_groups>;

/// The time of a stage's gradient sums after the backward pass of its last micro-batch. In n pieces they cost
/// n messages, and the last one can only start after that pass.
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

/// The gradient sums of each kind of stage after its last backward pass.
void sum_gradients(const Tables& t, std::vector<GradientTime>& sums) {
  sums.clear();
  for (std::size_t k = 0; k < t.sums.kinds.size(); ++k) {
    const LayerSums& kind = t.sums.kinds[k];
    Seconds backward;
    for (const int piece : t.stages.kinds[k].piece)
      backward += t.sums.pieces[std::size_t(piece)].backward_pass;
    const Seconds whole = whole_sum(t, kind);
    sums.push_back(
        {t.setting().training.overlap ? hidden_tail(t, kind.gradient, whole, backward) : whole, whole});
  }
}

/// The time of the schedule is known with and without messages. Without messages, it is the passes of the
/// busiest stage plus its waits for others (bubble); the difference is the transfer term. So the terms sum to
/// the time of the schedule.
void price_pipeline(const Tables& t, const Plan& plan, Scratch& scratch, Cost& out) {
  const double S = plan.micro_batches;
  const LayerSums& busiest = t.sums.kinds[t.sums.busiest()];
  const auto [executed, silent] = t.schedule.time;
  out[Term::forward] = S * busiest.forward;
  out[Term::backward] = S * busiest.backward;
  out[Term::activation_exchange] = S * busiest.exchange;
  out[Term::halo_exchange] = S * busiest.halo;
  out[Term::bubble] = std::max(Seconds{}, silent - S * busiest.passes());
  out[Term::stage_transfer] = executed - silent;

  const PipelineTail tail = pipeline_tail(t, plan, scratch);
  out[Term::update] = tail.update;
  out[Term::gradient_exchange] = tail.gradient;
  out.hidden = std::max(Seconds{}, tail.whole - tail.gradient);
}

/// Recomputation is priced as part of the backward pass, where the slowest stage sets the pace. This moves it
/// to a term of its own.
void show_recomputation(const Tables& t, Cost& out) {
  out[Term::recompute] = t.sums.recomputed_share() * out[Term::backward];
  out[Term::backward] = out[Term::backward] - out[Term::recompute];
}

/// Adds the weights that ZeRO gathers. If gradients are also sharded (2, 3), the gradients of every
/// micro-batch are scattered.
void add_weight_gathers(const Tables& t, const Plan& plan, Cost& out) {
  const auto add = [&](const GradientTime& gathers) {
    out[Term::gradient_exchange] += gathers.exposed;
    out.hidden += std::max(Seconds{}, gathers.whole - gathers.exposed);
  };
  if (gathers_by_tensor(t.setting().training, plan.zero) && t.stages.stages == 1) {
    out[Term::gradient_exchange] = out.hidden = {};  // scatters run between gathers
    return add(tensor_gathers(t, plan));
  }
  if (plan.zero >= 2) {
    out[Term::gradient_exchange] = plan.micro_batches * out[Term::gradient_exchange];
    out.hidden = plan.micro_batches * out.hidden;
  }
  add(slowest_gathers(t, plan).time);
}

/// Bytes of the exchanges at the end of an iteration, and of the weights that ZeRO gathers.
Bytes gradient_traffic(const Tables& t, const Plan& plan) {
  const double S = plan.micro_batches;
  const ItemBytes bytes = t.setting().training.bytes();
  const double sums = plan.zero >= 2 ? S : 1;
  Bytes out = sums * t.sums.copied;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) {
    if (!(t.gradients.groups[g].path.size() > 1)) continue;
    const Bytes gradients = t.sums.gradient[g];
    out += sums * gradients;
    if (plan.zero == 0) continue;
    const double weights = bytes.weight / bytes.sent_gradient;  // bytes of weights per byte of gradients
    out += (plan.zero >= 3 ? 2 * S : 1) * weights * gradients;
    if (gathers_by_tensor(t.setting().training, plan.zero) && t.stages.stages == 1)
      out += S * weights * t.sums.recomputed[g];
  }
  for (const StagePlan::Tied& tied : t.stages.tied)
    out += sums * t.passes.cells[std::size_t(tied.cell)].gradient;
  return out;
}

/// Bytes that stages send to each other, forward and backward.
Bytes transfer_traffic(const Tables& t, const Plan& plan) {
  Bytes out;
  for (const StageKind& kind : t.stages.kinds)
    for (const int piece : kind.piece)
      out += 2.0 * plan.micro_batches * kind.count * t.sums.pieces[std::size_t(piece)].sent.bytes;
  return out;
}

}  // namespace

FullestStage fullest_stage(const Tables& t, const Plan& plan) {
  FullestStage out;
  for (std::size_t k = 0; k < t.stages.kinds.size(); ++k) {
    const Memory memory = memory_of(t.sums.kinds[k].held, t.layout, t.mesh, t.gradients.sends, plan,
                                    t.schedule.in_flight[k]);
    if (memory.total() > out.memory.total()) out = {t.stages.kinds[k].first, memory};
  }
  return out;
}

Seconds packing(const Tables& t, const LayerSums& sums, std::size_t g) {
  const Seconds each = t.setting().training.framework.tensor;
  const GradientGroup& group = t.gradients.groups[g];
  return each > Seconds{} && group.path.size() > 1 ? group.packs * sums.tensors[g] * each : Seconds{};
}

Seconds whole_sum(const Tables& t, const LayerSums& kind) {
  Seconds out;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) out += packing(t, kind, g);
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g)
    if (kind.gradient[g] > Bytes{}) out += t.gradients.groups[g].allreduce(kind.gradient[g]);
  return out;
}

/// On a single stage, gradients are sent in pieces, hidden behind the backward pass, at the price of more
/// messages. If small pieces cost more than they hide, larger ones are tried, up to one piece for all.
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

/// The time in which two stages that use the same weights sum their gradients.
Seconds tied_sum(const Tables& t, const StagePlan::Tied& tied) {
  return t.links.cost_of(Collective::allreduce,
                         t.mesh.tied_path())(t.passes.cells[std::size_t(tied.cell)].gradient);
}

/// A stage sums its gradients and updates its weights as soon as its last backward pass is over; stages that
/// are done early do so while others still work. Two stages that share weights wait for each other. Times
/// count from the end of the schedule. In a run of equal stages, the first one is done last.
PipelineTail pipeline_tail(const Tables& t, const Plan& plan, Scratch& scratch) {
  const Seconds executed = t.schedule.time.end;
  sum_gradients(t, scratch.sums);
  PipelineTail out;
  Seconds all_updates;
  for (std::size_t k = 0; k < t.sums.kinds.size(); ++k) {
    out.whole = std::max(out.whole, scratch.sums[k].whole);
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
    out.whole += sum;
    owner = user = std::max(owner, user) + sum;
  }
  Seconds latest;
  for (std::size_t r = 0; r < after.size(); ++r) {
    const Seconds updated = after[r] + t.sums.kinds[kind_of(r)].updated(plan.zero);
    if (updated <= latest) continue;
    latest = updated;
    out.last = int(kind_of(r));
    out.gradient = after[r] > 1e-13 * executed ? after[r] : Seconds{};  // anything less is rounding
  }
  // With one micro-batch nothing overlaps: one stage works at a time, also in its update (the paper's pure
  // form).
  out.update = plan.micro_batches > 1 ? latest - out.gradient : all_updates;
  return out;
}

namespace {

/// The exposed time of messages that are sent ahead of the work that needs them: work waits for the first
/// one, and hides the others.
Seconds exposed_of(Seconds first, Seconds all, Seconds work, bool overlap) {
  return overlap ? std::max(first, all - work) : all;
}

/// ZeRO 1 and 2 gather the updated weights once; ZeRO 3 gathers them before each forward and each backward
/// pass.
GradientTime gather_time(const Tables& t, const Plan& plan, const LayerSums& kind) {
  const Training& training = t.setting().training;
  Seconds first, all, once;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g) {
    const Bytes weights = kind.weights[g] * training.bytes().weight;
    if (!(weights > Bytes{})) continue;
    const double pieces = std::max(1.0, std::floor(weights / training.bucket));
    const MessageCost& gather = t.gradients.groups[g].gather;
    const Seconds each = gather(weights / pieces);
    first += each, all += pieces * each, once += gather(weights);
  }
  if (plan.zero < 3) return {once, once};
  // In one piece, or in several pieces hidden behind the work, whichever is faster.
  const auto gathered = [&](Seconds work) {
    return std::min(once, exposed_of(first, all, work, training.overlap));
  };
  const double S = plan.micro_batches;
  return {S * (gathered(kind.forward_passes) + gathered(kind.backward_passes)), 2 * S * once};
}

}  // namespace

SlowestGathers slowest_gathers(const Tables& t, const Plan& plan) {
  SlowestGathers out;
  for (std::size_t k = 0; k < t.sums.kinds.size(); ++k)
    if (const GradientTime own = gather_time(t, plan, t.sums.kinds[k]); own.exposed >= out.time.exposed)
      out = {k, own};
  return out;
}

Seconds gathered_once(const Tables& t, std::size_t i) {
  constexpr double kept = 1e5;  // items: DeepSpeed's threshold
  const Cell& cell = t.layout.cells[i];
  const double weights = t.passes.cells[i].weights;
  if (weights < kept || cell.gradients < 0) return {};
  return cell.count * t.gradients.groups[std::size_t(cell.gradients)].gather(
                          weights * t.setting().training.bytes().weight);
}

/// Every weight tensor is gathered separately before each forward and each backward pass, and again for a
/// recomputed forward pass; its gradient is scattered. These messages run at the same time as the layers and
/// slow them down, so that neither is fully hidden behind the other:
///
///     forward: sqrt(FW^2 + G^2),  backward: sqrt(BW^2 + (2 or 3 G)^2),
///     G = sum over tensors (p-1)(alpha + W/p beta)
GradientTime tensor_gathers(const Tables& t, const Plan& plan) {
  const double S = plan.micro_batches;
  Seconds forward, backward, once, again;
  for (std::size_t i = 0; i < t.layout.cells.size(); ++i) {
    const Cell& cell = t.layout.cells[i];
    forward += cell.count * t.passes.cells[i].forward_pass();
    backward += cell.count * t.passes.cells[i].backward_pass();
    const Seconds each = gathered_once(t, i);
    once += each;
    if (cell.recomputed) again += each;
  }
  const auto exposed = [](Seconds work, Seconds wire) {
    return Seconds{std::hypot(work.base(), wire.base())} - work;
  };
  return {S * (exposed(forward, once) + exposed(backward, 2 * once + again)), S * (3 * once + again)};
}

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
  Seconds copies;  // on the stage where they take longest
  for (const LayerSums& kind : t.sums.kinds) copies = std::max(copies, kind.copies);
  out[Term::gradient_exchange] += copies;
  show_recomputation(t, out);
  if (plan.zero > 0) add_weight_gathers(t, plan, out);
  out.hidden += plan.micro_batches * t.sums.hidden;
  // If nothing is hidden, what is left is rounding.
  if (constexpr double rounding = 1e-9; out.hidden < rounding * out.communication()) out.hidden = {};
  const FullestStage fullest = fullest_stage(t, plan);
  out.memory = fullest.memory, out.worst_stage = fullest.stage;
  out.traffic = plan.micro_batches * t.sums.traffic + gradient_traffic(t, plan) + transfer_traffic(t, plan);
  return out;
}

}  // namespace paradl
