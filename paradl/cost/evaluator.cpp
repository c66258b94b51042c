#include "paradl/cost/evaluator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace paradl {
namespace {

/// Memory for the tables of one plan: enough on the stack for most networks, more from the heap.
class Arena {
 public:
  std::pmr::memory_resource* get() { return &resource_; }

 private:
  alignas(std::max_align_t) std::array<std::byte, 96 * 1024> bytes_;
  std::pmr::monotonic_buffer_resource resource_{bytes_.data(), bytes_.size()};
};

/// One per thread. Keeping it saves allocations; no result depends on its contents.
struct WorkingMemory {
  PipelineScratch pipeline;
  Scratch scratch;
};
WorkingMemory& working_memory() {
  thread_local WorkingMemory memory;
  return memory;
}

/// The axis of a pipeline; -1 if there is none.
int stage_axis(const Layout& layout) {
  for (std::size_t a = 0; a < layout.role.size(); ++a)
    if (layout.role[a].front() == Role::stage) return int(a);
  return -1;
}

void mix(std::size_t& hash, double value) {
  hash = (hash ^ std::bit_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 29;
}

/// A hash of the costs of all cells' passes and of their samples. An evaluator keeps few cuts, so that a
/// collision of 64 bits is very unlikely.
std::size_t fingerprint(const MeshTable& mesh, const PassTable& passes) {
  std::size_t hash = std::bit_cast<std::size_t>(passes.samples / mesh.parts[mesh.sharing]);
  for (const CellCost& cell : passes.cells) {
    mix(hash, cell.forward_pass().base()), mix(hash, cell.backward_pass().base());
    mix(hash, cell.forward_host.base()), mix(hash, cell.backward_host.base());
  }
  return hash;
}

/// What a layer adds to the passes of its stage.
LayerLoad load_of(const CellCost& cost) {
  return {.forward = cost.forward_pass().base(),
          .backward = cost.backward_pass().base(),
          .forward_host = cost.forward_host.base(),
          .backward_host = cost.backward_host.base()};
}

}  // namespace

Evaluator::Evaluator(const Setting& setting, std::shared_ptr<const Layouts> layouts)
    : setting_(setting), links_(setting_), times_(setting_), layouts_(std::move(layouts)) {}

const Layout& Evaluator::layout(const Plan& plan) const {
  return layouts_->of(plan.mesh, setting_.training.placing(plan));
}

bool Evaluator::balances_stages(int pieces) const {
  const StageCut by = setting_.training.stage_cut;
  return pieces > 1 && (by == StageCut::balanced ||
                        (by == StageCut::equal_blocks && !can_share_blocks(layouts_->blocks(), pieces)));
}

const StagePlan& Evaluator::stages(const Layout& layout, const MeshTable& mesh,
                                   const GradientTable& gradients, const PassTable& passes,
                                   const Plan& plan) const {
  const int axis = stage_axis(layout);
  const int stages = axis < 0 ? 1 : mesh.mesh.axis[std::size_t(axis)].parts.total;
  const Pipeline pipeline = plan.pipeline(stages);
  const auto make = [&](SecondsPerByte per_byte) {
    return std::make_unique<StagePlan>(cut(layout, mesh, gradients, passes, plan, stages, per_byte));
  };
  if (!balances_stages(pipeline.pieces()))
    return *even_stages_.get({&layout, stages, pipeline.chunks}, [&] { return make({}); });
  Plan key = plan;
  key.mesh = mesh.mesh;
  return *balanced_stages_.get(key, [&] { return make(links_.stage_pace(mesh.mesh, axis)); });
}

/// The cuts into stages that could be the best: only one, unless stages are balanced.
std::vector<StagePlan> Evaluator::find_cuts(const Layout& layout, const MeshTable& mesh,
                                            const PassTable& passes, const Plan& plan, int stages,
                                            SecondsPerByte per_byte) const {
  const Training& training = setting_.training;
  StageBorders borders{.pipeline = plan.pipeline(stages),
                       .cut = training.stage_cut,
                       .layer = {},
                       .border = {},
                       .blocks = {},
                       .crossing = {}};
  if (stages == 1) return stage_candidates(layout, setting_.work, borders);
  borders.blocks = layouts_->blocks();
  borders.crossing = Crossing(layout, setting_.work);
  borders.layer.reserve(layout.order.size());
  borders.border.reserve(layout.order.size());
  for (std::size_t l = 0; l < layout.order.size(); ++l) {
    if (training.stage_cut == StageCut::balanced_layers) {
      const LayerTime& time = setting_.times.layer[l];
      borders.layer.push_back({.forward = time.FW.base(), .backward = time.BW.base()});
      continue;
    }
    borders.layer.push_back(load_of(passes.cells[std::size_t(layout.order[l])]));
    double items = 0;
    for (const Kept& tensor : borders.crossing.behind(int(l)))
      items += tensor.items * passes.samples / mesh.parts[tensor.divided];
    borders.border.push_back((items * item_bytes(training.precision).activation * per_byte).base());
  }
  return stage_candidates(layout, setting_.work, borders);
}

/// The fastest cut into stages that fits the device or, if none does, the fastest of all. Out of core, the
/// fastest of all is tried even if it does not fit: with its copies to the host it may still be faster than
/// the fastest that fits. The candidates do not depend on gradient sums: plans that differ only in these share
/// them.
StagePlan Evaluator::cut(const Layout& layout, const MeshTable& mesh, const GradientTable& gradients,
                         const PassTable& passes, const Plan& plan, int stages,
                         SecondsPerByte per_byte) const {
  const std::size_t costs = stages > 1 ? fingerprint(mesh, passes) : 0;
  const CutKey key{&layout, costs, per_byte.base(), plan.pipeline(stages)};
  const std::vector<StagePlan>& candidates =
      cuts_.get(key, [&] { return find_cuts(layout, mesh, passes, plan, stages, per_byte); });
  std::size_t best = 0, fastest = 0;
  std::optional<Cost> least, least_time;
  const auto fits = [&](const Cost& cost) { return cost.memory.total() <= setting_.machine.device.memory; };
  // Times that differ only by rounding are equal: then the cut that needs less memory is better.
  const auto faster = [](const Cost& a, const Cost& b) {
    const double more = a.iteration() / b.iteration() - 1;
    return std::abs(more) < 1e-12 ? a.memory.total() < b.memory.total() : more < 0;
  };
  const auto better = [&](const Cost& a, const Cost& b) {
    return fits(a) != fits(b) ? fits(a) : faster(a, b);
  };
  WorkingMemory& memory = working_memory();
  for (std::size_t i = 0; i < candidates.size() && candidates.size() > 1; ++i) {
    const StageTable sums(layout, candidates[i], mesh, passes);
    const ScheduleTable schedule(candidates[i], sums, mesh, plan, memory.pipeline);
    const Cost cost =
        price({links_, layout, candidates[i], mesh, gradients, passes, sums, schedule}, plan, memory.scratch);
    if (!least || better(cost, *least)) best = i, least = cost;
    if (!least_time || faster(cost, *least_time)) fastest = i, least_time = cost;
  }
  if (plan.out_of_core && fastest != best) {
    const StageTable sums(layout, candidates[fastest], mesh, passes);
    const ScheduleTable schedule(candidates[fastest], sums, mesh, plan, memory.pipeline);
    const PricedOutOfCore beyond(
        *least_time, {links_, layout, candidates[fastest], mesh, gradients, passes, sums, schedule}, plan);
    const bool possible = beyond.plan().time.possible && beyond.plan().host <= beyond.host().memory;
    if (possible && faster(beyond.cost(), *least)) best = fastest;
  }
  return candidates[best];
}

Evaluation::Evaluation(const Evaluator& evaluator, const Plan& asked, const StagePlan* cut,
                       std::pmr::memory_resource* memory)
    : plan(without_ones(asked)),
      links(&evaluator.links()),
      layout(&evaluator.layout(plan)),
      mesh(evaluator.setting(), *links, *layout, plan.mesh),
      gradients(*links, *layout, mesh, plan.zero, plan.allreduce, memory),
      passes(*links, evaluator.times(), *layout, mesh, gradients, plan, memory),
      stages(cut ? cut : &evaluator.stages(*layout, mesh, gradients, passes, plan)),
      sums(*layout, *stages, mesh, passes, memory),
      schedule(*stages, sums, mesh, plan, working_memory().pipeline, memory),
      cost(price(tables(), plan, working_memory().scratch)) {
  if (!plan.out_of_core) return;
  out_of_core = evaluator.beyond_core(*this);
  cost = out_of_core->cost();
}

Cost Evaluator::cost(const Plan& plan, const StagePlan* cut) const {
  Arena arena;
  return Evaluation(*this, plan, cut, arena.get()).cost;
}

/// However layers are cut into stages, every micro-batch passes all layers, one after the other, and the
/// busiest stage has at least the mean of all stages to do:
///
///     T >= max(1, S / stages) sum over layers (FW + BW)
Seconds Evaluator::at_least(const Plan& asked, Seconds enough) const {
  const double stages = stages_of(asked.mesh, setting_.work);
  if (stages == 1 || !limits(asked).hold()) return {};
  const Plan plan = without_ones(asked);
  const Layout& placed = layout(plan);
  Arena arena;
  const MeshTable mesh(setting_, links_, placed, plan.mesh);
  const GradientTable gradients(links_, placed, mesh, plan.zero, plan.allreduce, arena.get());
  const double passes = full_share(setting_, plan.batch) * std::max(1.0, plan.micro_batches / stages);
  return passes * sum_passes(links_, times_, placed, mesh, gradients, plan, enough / passes);
}

std::shared_ptr<const PricedOutOfCore> Evaluator::beyond_core(const Evaluation& e) const {
  if (e.stages->stages > 1) return std::make_shared<PricedOutOfCore>(e.cost, e.tables(), e.plan);
  const auto& chains = chains_.get(e.layout, [&] { return find_chains(setting_.work, *e.layout); });
  return std::make_shared<PricedOutOfCore>(e.cost, e.tables(), e.plan, chains);
}

Seconds Evaluator::computation(const Evaluation& e, double batch) const {
  Plan plan = e.plan;
  plan.batch = batch;
  const double passes = full_share(setting_, batch) * plan.micro_batches;
  // The computation of a single stage depends on nothing but its local shapes. Which stage of a pipeline is
  // the busiest, and how long a GPU waits for its host, depends on exchanges, too.
  if (e.stages->stages == 1 && !(setting_.training.framework.host > Seconds{}))
    return passes * computations_.get(LocalTimes::shapes_of(*e.layout, e.mesh, plan), [&] {
      return sum_computation(times_, *e.layout, e.mesh, plan);
    });
  Arena arena;
  const PassTable table(links_, times_, *e.layout, e.mesh, e.gradients, plan, arena.get());
  const StageTable sums(*e.layout, *e.stages, e.mesh, table, arena.get());
  const LayerSums& busiest = sums.kinds[sums.busiest()];
  return passes * (busiest.forward + busiest.backward);
}

Bytes Evaluator::memory_of_layer(const Evaluation& e, int cell) const {
  const HeldItems held = held_alone(cell, *e.layout, e.passes, e.mesh);
  return memory_of(held, *e.layout, e.mesh, e.gradients.sends, e.plan, 1).total();
}

Seconds Evaluator::serial(const Plan& plan, double replicas) const {
  Plan one = plan;
  one.mesh = {};
  one.batch = plan.batch / replicas;
  one.out_of_core = false;
  // Without effect on one GPU: plans that differ only in these share a result.
  one.schedule = PipelineSchedule::gpipe, one.chunks = 1, one.allreduce = {};
  const Alone& alone = alone_.get(one, [&] {
    const Cost cost = this->cost(one);
    return Alone{cost[Term::forward] + cost[Term::backward], cost[Term::update]};
  });
  return full_share(setting_, plan.batch) * replicas * alone.passes + alone.update;
}

Timeline Evaluator::timeline(const Plan& plan) const {
  const Evaluation e = evaluate(plan);
  const Pipeline pipeline = plan.pipeline(e.stages->stages);
  return {pipeline, pipeline_timeline(pipeline, piece_times(*e.stages, e.sums))};
}

}  // namespace paradl
