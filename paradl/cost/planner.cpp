#include "paradl/cost/planner.hpp"

#include <algorithm>

namespace paradl {
namespace {

/// Whether an axis deals out the samples of a mini-batch.
bool shares_samples(const Axis& axis) { return axis.strategy->input == Placement::split_sample; }

/// Stages of the pipeline that a mesh has, if it has one.
int stages_of(const Mesh& mesh, const Workload& work) {
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (axis.strategy->role(work, 0, axis.parts, Placement::replicated) == Role::stage)
      return axis.parts.total;
  }
  return 1;
}

/// Of the bounds on axes that cut the same thing together, the one that is nearest to being broken.
std::optional<Limit> tightest_crowd(const Layout& layout, const Mesh& mesh) {
  std::optional<Limit> tightest;
  for (const Layout::Crowd& crowd : layout.crowds) {
    double parts = 1;
    for (int a = 0; a < mesh.axes; ++a)
      if (crowd.axes & axis_bit(a)) parts *= mesh.axis[std::size_t(a)].parts.total;
    if (!tightest || parts * tightest->bound > tightest->value * crowd.bound)
      tightest = {.rule = crowd.rule, .value = parts, .bound = crowd.bound, .layer = crowd.layer};
  }
  return tightest;
}

/// Sequence parallelism wants even parts of every sequence, or of what `context` leaves of it.
Limit sequence_limit(const Workload& work, int parts, int context) {
  Limit limit{.rule = context > 1 ? context_sequence_rule : sequence_rule,
              .value = double(parts),
              .bound = double(parts),
              .divides = true};
  for (std::size_t i = 0; i < work.layers.size() && limit.holds(); ++i)
    if (const Layer& layer = work.layers[i]; layer.op == Op::attention)
      limit.bound = layer.x.positions() / context, limit.layer = int(i);
  return limit;
}

/// The group whose gradients the allreduce that was asked for cannot sum, and the largest it could; `why` in
/// the allreduce's own words.
std::optional<Limit> allreduce_limit(const Layout& layout, const Mesh& mesh, const Setting& setting,
                                     std::string& why) {
  if (!setting.training.allreduce) return {};
  for (const Layout::Gradients& kind : layout.gradients) {
    const Path path = group_path(mesh, kind.summed, setting.machine);
    if (can_sum(path, setting)) continue;
    Job job = job_of(path, setting);
    const Algorithm& algorithm = *setting.training.allreduce;
    why = std::string(algorithm.name) + ": " + refusal(algorithm, job);
    const double ranks = job.ranks;
    while (job.ranks > 1 && !refusal(algorithm, job).empty())
      job.per_node = std::min(job.per_node, --job.ranks);
    return Limit{.rule = allreduce_rule, .value = ranks, .bound = double(job.ranks)};
  }
  return {};
}

}  // namespace

Planner::Planner(const Setting& setting, std::shared_ptr<Layouts> layouts)
    : setting_(setting), pricer_(setting), out_of_core_(setting), layouts_(std::move(layouts)) {}

Seconds Planner::serial(double batch, double replicas) {
  const double samples = batch / replicas;
  auto known = alone_.find(samples);
  if (known == alone_.end()) {
    const Mesh one;
    const Layout& whole = layout(one);
    pricer_.price_cells(whole, one, samples);
    const Breakdown cost = pricer_.price_plan(whole, stages(whole, one), samples);
    known =
        alone_.emplace(samples, Alone{cost[Term::forward] + cost[Term::backward], cost[Term::update]}).first;
  }
  // Where iterations are rounded up, the last one has fewer samples.
  const double full = setting_.work.D / batch / iterations_per_epoch(setting_, batch);
  return full * replicas * known->second.passes + known->second.update;
}

StagePlan Planner::fastest(std::vector<StagePlan> plans, const Layout& layout, double batch) {
  std::size_t best = 0;
  std::pair<bool, Seconds> least;  // whether it is too large, and its time
  for (std::size_t i = 0; i < plans.size() && plans.size() > 1; ++i) {
    const Breakdown cost = pricer_.price_plan(layout, plans[i], batch);
    const std::pair price{cost.memory.total() > setting_.machine.device.memory, cost.iteration()};
    if (i == 0 || price < least) best = i, least = price;
  }
  return std::move(plans[best]);
}

const StagePlan& Planner::stages(const Layout& layout, const Mesh& mesh) {
  const Training& training = setting_.training;
  StageKey key{.layout = &layout};
  int stages = 1;
  SecondsPerByte per_byte;
  for (int a = 0; a < mesh.axes; ++a) {
    if (layout.role[std::size_t(a)].front() != Role::stage) continue;
    stages = mesh.axis[std::size_t(a)].parts.total;
    per_byte = pricer_.stage_pace(mesh, a);
  }
  key.stages = stages;
  if (stages > 1 && training.stage_cut == StageCut::balanced)
    key.costs = pricer_.fingerprint(), key.per_byte = per_byte.base();
  auto& entry = stages_[key];
  if (entry) return *entry;
  StageBorders borders{.pipeline = training.pipeline(stages),
                       .cut = training.stage_cut,
                       .layer = {},
                       .border = {},
                       .blocks = {}};
  if (stages == 1) {
    entry = std::make_unique<StagePlan>(plan_stages(layout, setting_.work, borders));
    return *entry;
  }
  borders.blocks = layouts_->blocks();
  const double samples = pricer_.samples();
  for (std::size_t l = 0; l < layout.order.size(); ++l) {
    if (training.stage_cut == StageCut::balanced_layers) {
      const LayerTime& time = setting_.times.layer[l];
      borders.layer.push_back({.forward = time.FW.base(), .backward = time.BW.base()});
      continue;
    }
    borders.layer.push_back(Pricer::load_of(pricer_.cells()[std::size_t(layout.order[l])]));
    double items = 0;
    for (const Kept& tensor : layout.crossing[l])
      items += tensor.items * samples / pricer_.parts(tensor.divided);
    borders.border.push_back((items * item_bytes(training.precision).activation * per_byte).base());
  }
  entry = std::make_unique<StagePlan>(training.stage_cut == StageCut::balanced
                                          ? fastest(stage_candidates(layout, setting_.work, borders), layout,
                                                    samples * training.micro_batches)
                                          : plan_stages(layout, setting_.work, borders));
  return *entry;
}

const std::vector<BlockChain>& Planner::chains(const Layout& layout) {
  auto& entry = chains_[&layout];
  if (entry.empty()) entry = find_chains(setting_.work, layout);
  return entry;
}

void Planner::leave_core(Projection& out, const Layout& placed, const Mesh& split) {
  const StagePlan& staged = stages(placed, split);
  out.cost = staged.stages > 1
                 ? out_of_core_.price(*out.cost, pricer_, placed, staged, split, out.batch)
                 : out_of_core_.price(*out.cost, pricer_, placed, chains(placed), split, out.batch);
  const OutOfCorePlan& plan = out_of_core_.plan();
  const double gpus = out_of_core_.host().gpus;
  out.out_of_core = {.kept = plan.count(Fate::kept),
                     .swapped = plan.count(Fate::swapped),
                     .recomputed = plan.count(Fate::recomputed),
                     .weights = plan.home,
                     .host = gpus * plan.host,
                     .again = out_of_core_.again(),
                     .doubt = out_of_core_.doubt()};
  if (plan.time.possible)
    out.limits.add({.rule = host_rule,
                    .value = out.out_of_core->host.base(),
                    .bound = setting_.machine.host->memory->base()});
  else if (out_of_core_.lacks_update_rate())
    out.limits.add({.rule = host_update_rule, .value = 1, .bound = 0});
}

Projection Planner::project(const StrategyName& strategy, const Mesh& mesh, double batch) {
  Projection out{.strategy = &strategy, .mesh = mesh, .gpus = mesh.gpus(), .batch = batch};
  out.iterations = iterations_per_epoch(setting_, batch);
  out.samples = setting_.work.D;
  double samples = batch;  // left for one PE of the axes so far
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    out.limits.add(shares_samples(axis) ? axis.strategy->limit(setting_.work, axis.parts, samples)
                                        : layouts_->limit(axis));
    if (shares_samples(axis)) samples /= axis.parts.total;
  }
  const double S = setting_.training.micro_batches;
  if (S > 1) out.limits.add({.rule = micro_batch_rule, .value = S, .bound = samples, .divides = true});
  if (const double p = stages_of(mesh, setting_.work), V = setting_.training.chunks; p > 1 && V > 1) {
    out.limits.add({.rule = interleaving_rule, .value = p, .bound = S, .divides = true});
    out.limits.add({.rule = "p V <= G", .value = p * V, .bound = double(setting_.work.layers.size())});
  }
  if (!out.limits.hold()) return out;
  int context = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (const Axis& axis = mesh.axis[std::size_t(a)]; axis.strategy->input == Placement::split_space)
      context *= axis.parts.total;
  for (int a = 0; a < mesh.axes && setting_.training.sequence_parallel; ++a)
    if (const Axis& axis = mesh.axis[std::size_t(a)]; axis.strategy->pairs)
      out.limits.add(sequence_limit(setting_.work, axis.parts.total, context));
  if (!out.limits.hold()) return out;

  const Mesh split = without_ones(mesh);
  const Layout& placed = layout(split);
  if (const auto limit = tightest_crowd(placed, split)) out.limits.add(*limit);
  if (const auto limit = allreduce_limit(placed, split, setting_, out.refused)) out.limits.add(*limit);
  if (!out.limits.hold()) return out;
  out.serial = serial(batch, batch / samples);  // first: what the pricer knows is of its last price
  pricer_.price_cells(placed, split, batch);
  out.cost = pricer_.price_plan(placed, stages(placed, split), batch);
  if (strategy.out_of_core) leave_core(out, placed, split);
  if (setting_.training.ceil_iterations) {
    // Only exchanges and updates happen once more for a last, smaller mini-batch; its samples are not more
    // work.
    const double whole = setting_.work.D / batch / out.iterations;
    for (const Term t : {Term::forward, Term::backward, Term::recompute, Term::bubble, Term::swap})
      (*out.cost)[t] *= whole;
  }
  for (const Pricer::GradientGroup& group : pricer_.gradient_groups())
    if (group.asked) {
      out.allreduce = std::min(group.asked->fidelity, out.allreduce.value_or(group.asked->fidelity));
      const std::string chosen = group.asked->chosen(pricer_.gradients_of(group, placed));
      if (out.chosen.find(chosen) == out.chosen.npos)
        out.chosen += (out.chosen.empty() ? "" : "; ") + chosen;  // another for another group
    }
  if (setting_.training.input.from != InputFrom::none) add_input(out, setting_);
  finish(out, setting_);
  return out;
}

Planner::Timeline Planner::timeline(const StrategyName& strategy, const Mesh& mesh, double batch) {
  project(strategy, mesh, batch);
  const Mesh split = without_ones(mesh);
  const StagePlan& plan = stages(layout(split), split);
  return {setting_.training.pipeline(plan.stages),
          pricer_.timeline(plan, batch / setting_.training.micro_batches)};
}

}  // namespace paradl
