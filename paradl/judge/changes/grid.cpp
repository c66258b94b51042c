// Changes of the mini-batch, the strategy and the grid.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/judge/changes/values.hpp"

namespace paradl::changes {
namespace {

Alternatives use_batch(const Evidence& e, double batch) {
  // Stages are cut by the times of whole layers at this mini-batch: another mini-batch may be another plan.
  if (e.details && e.details->evaluation.stages->stages > 1) return {};
  return {{.text = fmt::format("a mini-batch of {:g} ({:.3g} per GPU), which changes the training", batch,
                               batch / e.projection.gpus),
           .option = fmt::format("-b {:.0f}", batch),
           .plan = [batch](Plan& p) { p.batch = batch; }}};
}

/// Every spatial split that these sizes can have.
void use_sizes(Alternatives& out, const Evidence& e, const StrategyName& strategy,
               const std::vector<int>& sizes) {
  std::vector<Parts> parts;
  for (const int n : sizes) parts.push_back({.total = n});
  const int most = training(e).framework.one_extent ? 1 : 3;
  for (const Mesh& mesh : meshes(strategy, parts, std::clamp(e.setting.work.input.dims, 1, most)))
    out.push_back({.text = fmt::format("{} on {}", strategy.text, grid_text(mesh, true)),
                   .option = fmt::format("-s {} --grid {}", strategy.text,
                                         exact_grid(mesh, std::max(1, e.setting.work.input.dims))),
                   .mesh = mesh,
                   .out_of_core = strategy.out_of_core});
}

std::vector<int> sizes_of(const Mesh& mesh) {
  std::vector<int> out;
  for (int a = 0; a < mesh.axes; ++a) out.push_back(mesh.axis[std::size_t(a)].parts.total);
  return out;
}

/// The strategy without an axis that has only one GPU left.
StrategyName without_axis(const StrategyName& strategy, std::size_t axis) {
  std::vector<const Strategy*> axes = strategy.axes;
  axes.erase(axes.begin() + std::ptrdiff_t(axis));
  return strategy.out_of_core ? out_of_core(hybrid(std::move(axes))) : hybrid(std::move(axes));
}

/// The first strategy for which something holds.
template <class Holds>
const Strategy* first_strategy(Holds holds) {
  return *std::ranges::find_if(strategies(), [&](const Strategy* s) { return holds(*s); });
}

bool cuts_space(const Strategy& strategy) { return strategy.usual && strategy.input == Placement::split_space; }
bool pairs_products(const Strategy& strategy) { return strategy.pairs; }

/// `data` between nodes and `inner` within them.
void use_hybrid(Alternatives& out, const Evidence& e, const Strategy* inner) {
  const int node = int(e.setting.machine.gpus_per_node()), p = int(e.projection.gpus);
  const Strategy* outer = &outer_strategy();
  if (inner == outer || node < 2 || p % node != 0 || p / node < 2) return;
  const StrategyName strategy = hybrid({outer, inner});
  if (strategy.text != e.projection.strategy()) use_sizes(out, e, strategy, {p / node, node});
}

}  // namespace

/// Half as many updates and sums of gradients per epoch.
Alternatives doubled_batch(const Evidence& e) { return use_batch(e, 2 * e.projection.plan.batch); }

Alternatives batch_for_all_gpus(const Evidence& e) {
  for (const Limit& limit : e.projection.limits.all())
    if (limit.rule == LimitRule::samples && !limit.holds())
      return use_batch(e, e.projection.plan.batch * std::ceil(limit.value / limit.bound));
  return {};
}

Alternatives most_efficient_batch(const Evidence& e) {
  if (!e.details) return {};
  const double best = best_batch(e).samples;
  return best == e.projection.plan.batch ? Alternatives{} : use_batch(e, best);
}

/// Half of the parts of each other axis move to `data`.
Alternatives grids_with_more_data(const Evidence& e) {
  Alternatives out;
  const StrategyName strategy = strategy_of(e.projection.plan);
  const auto data = std::ranges::find(strategy.axes, &outer_strategy()) - strategy.axes.begin();
  if (data == std::ssize(strategy.axes)) return out;
  const std::vector<int> now = sizes_of(e.projection.plan.mesh);
  for (std::size_t a = 0; a < now.size(); ++a) {
    if (std::ptrdiff_t(a) == data || now[a] % 2 != 0) continue;
    std::vector<int> sizes = now;
    sizes[a] /= 2;
    sizes[std::size_t(data)] *= 2;
    if (sizes[a] > 1) {
      use_sizes(out, e, strategy, sizes);
      continue;
    }
    sizes.erase(sizes.begin() + std::ptrdiff_t(a));
    use_sizes(out, e, without_axis(strategy, a), sizes);
  }
  return out;
}

/// `tensor` instead of an axis that splits the channels of every product by itself, with the same sizes.
Alternatives grids_with_tensor(const Evidence& e) {
  Alternatives out;
  const Mesh& mesh = e.projection.plan.mesh;
  const Strategy* tensor = first_strategy(pairs_products);
  std::vector<const Strategy*> axes;
  bool changed = false;
  for (const Axis& axis : mesh.all()) {
    const bool here = splits_channels(axis, e.setting.work) && !axis.strategy->pairs;
    changed |= here;
    axes.push_back(here ? tensor : axis.strategy);
  }
  if (changed && std::ranges::count(axes, tensor) == 1)  // an axis may occur only once
    use_sizes(out, e, hybrid(std::move(axes)), sizes_of(mesh));
  return out;
}

Alternatives grids_with_data_between_nodes(const Evidence& e) {
  Alternatives out;
  if (e.mesh.axes == 1) use_hybrid(out, e, e.mesh.axis[0].strategy);
  return out;
}

Alternatives grids_with_less_memory(const Evidence& e) {
  Alternatives out;
  if (e.mesh.axes != 1) return out;
  const bool sequences = e.setting.work.tokens;
  const Strategy* spatial = first_strategy(cuts_space);
  if (!sequences) use_hybrid(out, e, spatial);
  use_hybrid(out, e, first_strategy(pairs_products));
  const auto cuts_network = [&](const Strategy& s) { return is_pipeline({&s, {}}, e.setting.work); };
  use_hybrid(out, e, first_strategy(cuts_network));
  if (!sequences && e.mesh.axis[0].strategy != spatial)
    use_sizes(out, e, hybrid({spatial}), {int(e.projection.gpus)});
  return out;
}

/// Twice the GPUs on any axis, with the same mini-batch: with -b N/gpu it would grow.
Alternatives twice_the_gpus(const Evidence& e) {
  Alternatives out;
  const Projection& p = e.projection;
  if (2 * p.gpus > e.setting.machine.gpus()) return out;
  for (int a = 0; a < p.plan.mesh.axes; ++a) {
    Mesh mesh = p.plan.mesh;
    auto& [strategy, parts] = mesh.axis[std::size_t(a)];
    parts.total *= 2;
    if (strategy->input == Placement::split_space) parts.cut[0] *= 2;
    out.push_back(
        {.text = {}, .option = fmt::format("-p {} -b {:.0f}", 2 * p.gpus, p.plan.batch), .mesh = mesh});
  }
  return out;
}

}  // namespace paradl::changes
