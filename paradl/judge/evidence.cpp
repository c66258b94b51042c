#include "paradl/judge/evidence.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

Seconds between_neighbours(const Cost& cost) {
  return cost[Term::halo_exchange] + cost[Term::stage_transfer];
}

bool passes_hosts(const Training& training) {
  return training.transport == Transport::host || training.framework.halos == Transport::host;
}

Seconds per_sample(const Projection& p) {
  return ((*p.cost)[Term::forward] + (*p.cost)[Term::backward] + (*p.cost)[Term::recompute]) / p.plan.batch;
}

/// Point-to-point time with direct transfers between GPUs.
Seconds direct_time(const Projection& p, const Evaluator& evaluator) {
  if (!passes_hosts(evaluator.setting().training)) return between_neighbours(*p.cost);
  Setting other = evaluator.setting();
  other.training.transport = other.training.framework.halos = Transport::gpu;
  return between_neighbours(*Evaluator(other, evaluator.layouts()).project(p.plan).cost);
}

/// The computation of an iteration with another mini-batch and the same stages; nothing if that does not fit.
/// Another cut into stages would change the time of a sample, but not the efficiency of the kernels.
std::optional<Seconds> computation(const Projection& p, double batch, const Evaluator& evaluator,
                                   const Evaluation& e) {
  Plan plan = p.plan;
  plan.batch = batch;
  if (plan.out_of_core) {
    const Projection other = evaluator.project(plan, e.stages);
    return other.feasible() ? std::optional(batch * per_sample(other)) : std::nullopt;
  }
  const Bytes room = evaluator.setting().machine.device.memory;
  if (!evaluator.limits(plan).hold() || fullest_stage(e.tables(), plan).memory.total() > room) return {};
  return evaluator.computation(e, batch);
}

/// The layer whose input and output take most of a GPU's memory.
int largest_cell(const Evaluation& e) {
  const auto items = [&](const Cell& cell) {
    return cell.x.items / e.mesh.parts[cell.x.divided] + cell.y.items / e.mesh.parts[cell.y.divided];
  };
  int largest = 0;
  double most = -1;
  for (std::size_t i = 0; i < e.layout->cells.size(); ++i)
    if (const double own = items(e.layout->cells[i]); own > most) most = own, largest = int(i);
  return largest;
}

}  // namespace

BestBatch best_batch(const Evidence& e) {
  const Projection& p = e.projection;
  BestBatch best{p.plan.batch, per_sample(p)};
  if (!p.feasible()) return best;
  for (double factor = 0.25; factor <= 16; factor *= 2) {
    const double batch = factor * p.plan.batch;
    if (batch == p.plan.batch || batch != std::floor(batch)) continue;
    const std::optional<Seconds> time = computation(p, batch, e.details->evaluator, e.details->evaluation);
    if (factor > 1 && !time) break;  // nor do larger ones fit: with the same stages, memory only grows
    constexpr double rounding = 1 - 1e-9;
    if (time && *time / batch < rounding * best.per_sample) best = {batch, *time / batch};
  }
  return best;
}

int stages_of(const Evidence& e) { return stages_of(e.mesh, e.setting.work); }

double sample_parts(const Mesh& mesh) {
  double out = 1;
  for (const Axis& axis : mesh.all())
    if (axis.strategy->input == Placement::split_sample) out *= axis.parts.total;
  return out;
}

AxisSet sharing_axes(const Evidence& e) {
  AxisSet out = 0;
  for (int a = 0; a < e.mesh.axes; ++a)
    if (e.details->evaluation.layout->role[std::size_t(a)].front() != Role::stage) out |= axis_bit(a);
  return out;
}

const std::vector<StageKind::Share>& cells_of_stage(const Evidence::Details& details, int stage) {
  const StagePlan& plan = *details.evaluation.stages;
  return plan.kinds[std::size_t(plan.kind[std::size_t(stage)])].cells;
}

Seconds stage_time(const Evidence::Details& details, int stage) {
  Seconds out;
  for (const auto& [cell, count] : cells_of_stage(details, stage)) {
    const CellCost& cost = details.evaluation.passes.cells[std::size_t(cell)];
    out += count * (cost.forward_pass() + cost.backward_pass());
  }
  return out;
}

const Layer& layer_of(const Evidence& e, const Cell& cell) {
  return e.setting.work.layers[std::size_t(cell.layer)];
}

double share_of(const Evidence& e, Seconds time) { return time / e.projection.iteration(); }

double exposed(const Evidence& e, Term term) { return share_of(e, (*e.projection.cost)[term]); }

std::string busiest_exchange(const Evidence& e, Term term) {
  if (!e.details) return {};
  const Evaluation& evaluation = e.details->evaluation;
  const Ledger& exchanges = e.details->exchanges;  // most expensive first
  const auto busiest = std::ranges::find(exchanges, term, &Charge::term);
  if (busiest == exchanges.end()) return {};
  return fmt::format("{} of {} over {}, {} each, level {}", what_of(*busiest, evaluation),
                     layer_of(*busiest, evaluation), axes_of(*busiest, evaluation), decimal(busiest->bytes),
                     level_times(*busiest, evaluation).back().level);
}

std::optional<Reading> read_term(const Evidence& e, Term term, std::string_view what) {
  if (!e.projection.cost) return {};
  const double share = exposed(e, term);
  if (!(share > 0)) return {};
  return Reading{share, share, busiest_exchange(e, term),
                 fmt::format("{} {} of the iteration", what, percent(share))};
}

Evidence evidence_of(const Projection& p, const Setting& setting) {
  return {p, setting, without_ones(p.plan.mesh)};
}

Evidence::Details::Details(const Projection& p, const Evaluator& of)
    : evaluator(of),
      evaluation(evaluator.evaluate(p.plan)),
      exchanges(exchanges_of(evaluation)),
      direct(direct_time(p, evaluator)) {
  const int cell = largest_cell(evaluation);
  largest = evaluation.layout->cells[std::size_t(cell)].layer;
  largest_layer = evaluator.memory_of_layer(evaluation, cell);
}

Evidence evidence_of(const Projection& p, const Setting& setting, const Evaluator& evaluator) {
  Evidence e = evidence_of(p, setting);
  if (p.cost) e.details = std::make_unique<Evidence::Details>(p, evaluator);
  return e;
}

}  // namespace paradl
