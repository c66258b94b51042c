// A pipeline out of core. A stage holds the activations of several micro-batches at a time: it runs all of
// these forward, then backward, the last one first. For the stage this is one long chain of blocks, one
// micro-batch after the other, and it is planned as such. The extra time for a micro-batch then makes the
// stage's passes longer in the schedule of the pipeline.
#include <algorithm>
#include <cmath>

#include "paradl/cost/price_out_of_core.hpp"

namespace paradl {
namespace {

/// The layers of a stage, piece by piece.
std::vector<Piece> pieces_of(const StagePlan& plan, int stage, int layers) {
  std::vector<Piece> out;
  for (int piece = stage; piece < plan.stages * plan.chunks; piece += plan.stages) {
    const auto next = std::size_t(piece) + 1;
    out.push_back({plan.first_layer[std::size_t(piece)],
                   next < plan.first_layer.size() ? plan.first_layer[next] : layers});
  }
  return out;
}

/// The passes of every piece in core, without waiting for the host to launch kernels.
std::vector<PieceTime> plain_pieces(const Tables& t) {
  const StagePlan& plan = t.stages;
  std::vector<PieceTime> out(std::size_t(plan.stages * plan.chunks));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto stage = i % std::size_t(plan.stages), chunk = i / std::size_t(plan.stages);
    const StageKind& kind = plan.kinds[std::size_t(plan.kind[stage])];
    for (const auto& [id, count] : kind.chunks[chunk].cells) {
      const CellCost& cost = t.passes.cells[std::size_t(id)];
      out[i].forward += count * cost.forward_pass();
      out[i].backward += count * cost.backward_pass();
    }
    out[i].sent = t.sums.pieces[std::size_t(kind.piece[chunk])].sent.time;
  }
  return out;
}

Memory stage_memory(const Tables& t, const Plan& plan, std::size_t kind) {
  return memory_of(t.sums.kinds[kind].held, t.layout, t.mesh, t.gradients.sends, plan,
                   t.schedule.in_flight[kind]);
}

}  // namespace

PricedOutOfCore::StageDelay PricedOutOfCore::plan_stage(const Tables& t, std::size_t kind,
                                                        const Memory& in_core) {
  const bool fits = in_core.total() <= setting_.machine.device.memory;
  const int batches = int(std::ceil(t.schedule.in_flight[kind]));
  auto cut = find_chains(
      setting_.work, t.layout,
      pieces_of(t.stages, t.stages.kinds[kind].first, int(setting_.work.layers.size())), batches);
  if (fits) cut.resize(1);
  fill_all(t, cut, in_core);
  limits_ = {.out = host_.link, .in = host_.link, .host = host_.memory};
  Seconds work;
  for (const OutOfCoreBlock& block : chains_.front().blocks) work += block.forward + block.backward;
  limits_.in_core = work;
  lacks_update_rate_ = false;
  if (fits) {
    keep_all();
    return {.again = {}, .stall = {}, .memory = in_core};
  }
  find_plan();
  if (!plan_.time.possible) return {.again = {}, .stall = {}, .memory = least_memory(in_core, false)};
  Memory memory = resident(in_core, plan_.chain, plan_.home);
  memory.activations += plan_.time.peak;
  memory.reserve += setting_.training.fragmentation * (memory.activations + memory.workspace);
  const Seconds busy = work + plan_.recompute;
  const bool waits = plan_.time.passes > (1 + 1e-12) * busy;  // by more than rounding
  return {plan_.recompute / batches, waits ? (plan_.time.passes - busy) / batches : Seconds{}, memory};
}

PricedOutOfCore::PricedOutOfCore(const Cost& in_core, const Tables& t, const Plan& plan)
    : setting_(t.setting()), cost_(in_core), host_(host_share(setting_.machine, plan.mesh.gpus())) {
  const StagePlan& staged = t.stages;
  measure_kept(t);
  std::vector<StageDelay> delays;
  // The stage to show: the one with most memory among those that are out of core; if there are none, among
  // all.
  std::size_t worst = 0, planned = staged.kinds.size();  // planned: the stage that plan_ belongs to
  bool leaves = false;
  Bytes on_host;
  for (std::size_t k = 0; k < staged.kinds.size(); ++k) {
    const Memory memory = stage_memory(t, plan, k);
    const bool fits = memory.total() <= setting_.machine.device.memory;
    delays.push_back(fits ? StageDelay{.again = {}, .stall = {}, .memory = memory}
                          : plan_stage(t, k, memory));
    if (!fits) planned = k;
    if (!fits && plan_.time.possible) on_host = std::max(on_host, plan_.host);
    const bool more = delays.back().memory.total() > delays[worst].memory.total();
    if (fits ? more && !leaves : more || !leaves) worst = k;
    leaves |= !fits;
  }
  cost_.memory = delays[worst].memory;
  cost_.worst_stage = staged.kinds[worst].first;
  if (planned != worst) plan_stage(t, worst, stage_memory(t, plan, worst));
  plan_.host = on_host;
  if (!plan_.time.possible) return;

  // Longer passes make the schedule longer. The difference is shown as recomputation and as waiting for
  // copies, in the proportion of the stage that is delayed most.
  std::vector<PieceTime> pieces = plain_pieces(t);
  const Pipeline pipeline = plan.pipeline(staged.stages);
  PipelineClock clock;
  const Seconds before = clock.run(pipeline, pieces).end;
  Seconds most, again;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto stage = i % std::size_t(staged.stages);
    const StageDelay& delay = delays[std::size_t(staged.kind[stage])];
    const Seconds longer = delay.again + delay.stall;
    pieces[i].backward += longer / staged.chunks;
    if (longer > most) most = longer, again = delay.again;
  }
  if (!(most > Seconds{})) return;
  const Seconds longer = std::max(Seconds{}, clock.run(pipeline, pieces).end - before);
  delay_ = again / most * longer;
  cost_[Term::recompute] += delay_;
  cost_[Term::swap] += longer - delay_;
}

}  // namespace paradl
