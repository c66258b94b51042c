// A pipeline out of core. A stage has the activations of several micro-batches at a time: in rounds, it runs
// all of these forward, then backward, the last one first. To the stage that is one long chain of blocks,
// each micro-batch's after the other's, and it is planned as such. What a stage takes longer for a
// micro-batch then makes its passes longer in the schedule of the pipeline.
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

/// Passes of every piece, as in core.
std::vector<PieceTime> piece_times(const StagePlan& plan, const Pricer& pricer, double samples) {
  std::vector<PieceTime> out(std::size_t(plan.stages * plan.chunks));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto stage = i % std::size_t(plan.stages), chunk = i / std::size_t(plan.stages);
    const StageKind& kind = plan.kinds[std::size_t(plan.kind[stage])];
    for (const auto& [id, count] : kind.chunks[chunk].cells) {
      const CellCost& cost = pricer.cells()[std::size_t(id)];
      out[i].forward += count * cost.forward_pass();
      out[i].backward += count * cost.backward_pass();
    }
    out[i].sent = pricer.transfer(kind.chunks[chunk], samples).time;
  }
  return out;
}

}  // namespace

OutOfCorePricer::StageDelay OutOfCorePricer::plan_stage(const Pricer& pricer, const Layout& layout,
                                                        const StagePlan& plan, const StageKind& kind,
                                                        double samples) {
  const Memory in_core = pricer.stage_memory(layout, plan, kind, samples);
  const bool fits = in_core.total() <= setting_.machine.device.memory;
  const int in_flight = int(std::ceil(pricer.in_flight(layout, plan, kind, samples)));
  const auto cut = find_chains(setting_.work, layout,
                               pieces_of(plan, kind.first, int(setting_.work.layers.size())), in_flight);
  count_ = fits ? 1 : cut.size();
  if (chains_.size() < count_) chains_.resize(count_), aside_.resize(count_);
  for (std::size_t c = 0; c < count_; ++c) {
    fill(pricer, layout, cut[c], samples, c);
    set_rooms(in_core, c);
  }
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
  return {plan_.recompute / in_flight, waits ? (plan_.time.passes - busy) / in_flight : Seconds{}, memory};
}

Breakdown OutOfCorePricer::price(const Breakdown& in_core, const Pricer& pricer, const Layout& layout,
                                 const StagePlan& plan, const Mesh& mesh, double batch) {
  const double samples = batch / setting_.training.micro_batches;
  host_ = host_share(setting_.machine, mesh.gpus());
  again_.clear();
  measure_kept(pricer, layout, samples);
  Breakdown out = in_core;
  std::vector<StageDelay> delays;
  // The stage that is told: of those that leave the core the one that holds most, else simply that.
  std::size_t worst = 0, told = plan.kinds.size();  // told: whose plan is at hand
  bool leaves = false;
  Bytes on_host;
  for (const StageKind& kind : plan.kinds) {
    const Memory memory = pricer.stage_memory(layout, plan, kind, samples);
    const bool fits = memory.total() <= setting_.machine.device.memory;
    delays.push_back(fits ? StageDelay{.again = {}, .stall = {}, .memory = memory}
                          : plan_stage(pricer, layout, plan, kind, samples));
    if (!fits) told = delays.size() - 1;
    if (!fits && plan_.time.possible) on_host = std::max(on_host, plan_.host);
    const bool more = delays.back().memory.total() > delays[worst].memory.total();
    if (fits ? more && !leaves : more || !leaves) worst = delays.size() - 1;
    leaves |= !fits;
  }
  out.memory = delays[worst].memory;
  out.worst_stage = plan.kinds[worst].first;
  if (told != worst) plan_stage(pricer, layout, plan, plan.kinds[worst], samples);
  plan_.host = on_host;
  if (!plan_.time.possible) return out;

  // Longer passes, longer schedule. By how much is told as recomputation and as waiting for copies, in the
  // proportion of the stage that is delayed most.
  std::vector<PieceTime> pieces = piece_times(plan, pricer, samples);
  const Pipeline pipeline = setting_.training.pipeline(plan.stages);
  PipelineClock clock;
  const Seconds before = clock.run(pipeline, pieces).end;
  Seconds most, again;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto stage = i % std::size_t(plan.stages);
    const StageDelay& delay = delays[std::size_t(plan.kind[stage])];
    const Seconds longer = delay.again + delay.stall;
    pieces[i].backward += longer / plan.chunks;
    if (longer > most) most = longer, again = delay.again;
  }
  if (!(most > Seconds{})) return out;
  const Seconds longer = std::max(Seconds{}, clock.run(pipeline, pieces).end - before);
  out[Term::recompute] += again / most * longer;
  out[Term::swap] += longer - again / most * longer;
  return out;
}

}  // namespace paradl
