#include "calibrate/measure/layer_plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "paradl/console/ranges.hpp"
#include "paradl/core/error.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl::calibrate {
namespace {

int extents_of(const Workload& work) { return std::max(1, work.input.dims); }

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw UsageError(fmt::format("--split {}: {}", text, why),
                   "write a strategy and its sizes, such as filter=2,4, spatial=2x2 or data+filter=2x2");
}

/// Multiply-adds of one pass.
double products(const LocalLayer& l) {
  if (l.op == Op::fc) return double(l.y_items()) * double(l.x_channels);
  if (l.op == Op::conv) {
    const double taps = double(l.kernel[0] * l.kernel[1] * l.kernel[2]);
    return double(l.y_items()) * taps * double(l.x_channels) / double(l.groups);
  }
  // Scores, and values weighted by them.
  if (l.op == Op::attention) return 2.0 * double(l.y_items()) * double(l.x_positions());
  return 0;
}

}  // namespace

std::vector<Mesh> read_split(std::string_view text, const Workload& work, const BatchRule& batch) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) refuse(text, "no sizes are given");
  const StrategyName strategy = read_strategy(text.substr(0, equals));
  if (strategy.axes.empty()) refuse(text, "`serial` splits nothing");
  std::vector<Mesh> out;
  std::string reason;
  for (const std::string& size : split_list(text.substr(equals + 1), ',')) {
    // One axis uses the whole text, as in `spatial=2x2`.
    const std::string grid = strategy.axes.size() == 1 ? fmt::format("{}={}", strategy.text, size) : size;
    const std::size_t before = out.size();
    for (const Mesh& mesh : meshes(strategy, read_grid(grid, strategy), extents_of(work))) {
      const std::string broken = broken_limit(work, mesh, batch_on(batch, mesh));
      if (broken.empty()) out.push_back(mesh);
      if (!broken.empty()) reason = broken;
    }
    if (out.size() == before)
      throw UsageError(fmt::format("--split {}: {} cannot be split this way: {}", text, work.name, reason),
                       "use smaller sizes, or a larger -b");
  }
  return out;
}

std::vector<Mesh> default_splits(const Workload& work, const BatchRule& batch) {
  std::vector<Mesh> out;
  for (const Strategy* strategy : strategies()) {
    if (!strategy->usual) continue;
    const StrategyName name = read_strategy(strategy->name);
    for (const Mesh& mesh : meshes(name, 2, extents_of(work)))
      if (broken_limit(work, mesh, batch_on(batch, mesh)).empty()) out.push_back(mesh);
  }
  return out;
}

std::string broken_limit(const Workload& work, const Mesh& mesh, double samples) {
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    const Limit limit = axis.strategy->limit(work, axis.parts, samples);
    if (!limit.holds()) return reason(limit, work);
    if (axis.strategy->input == Placement::split_sample) samples /= axis.parts.total;
  }
  return "";
}

void refuse_unrunnable(const Workload& work) {
  for (const Layer& l : work.layers)
    if (l.op > Op::loss || l.experts > 0 || (l.op == Op::attention && l.inputs.size() > 1))
      throw UsageError(
          fmt::format("layer `{}` of {} cannot be run here: no back end supports experts, cross attention "
                      "or parts of sequences",
                      l.name, work.name),
          "`paradl project` can still project it");
}

double batch_on(const BatchRule& batch, const Mesh& mesh) {
  return batch.per == BatchRule::Per::gpu ? batch.value * mesh.gpus() : batch.value;
}

std::vector<PlannedShape> plan_shapes(const Workload& work, const std::vector<Mesh>& splits,
                                      const Training& training, const BatchRule& batch, const Plan& plan) {
  refuse_unrunnable(work);
  std::vector<PlannedShape> out;
  std::set<LocalLayer> seen;
  std::vector<Mesh> all{{}};
  all.insert(all.end(), splits.begin(), splits.end());
  for (const Mesh& mesh : all) {
    const Layout layout = place(work, mesh, training.placing(plan));
    const double samples = batch_on(batch, mesh) / plan.micro_batches;
    for (const Cell& cell : layout.cells) {
      const Layer& layer = work.layers[std::size_t(cell.layer)];
      const LocalLayer local = local_layer(layer, cut_of(layout, cell, mesh), samples);
      if (seen.insert(local).second) out.push_back({local, layer.name, mesh});
    }
  }
  return out;
}

std::string split_text(const Mesh& mesh) { return mesh.axes == 0 ? "whole" : grid_text(mesh, false); }

Rates nominal_rates(Backend backend) {
  if (backend == Backend::cuda) return {.flop = 10e12, .bytes = 500e9, .source = "those of a typical GPU"};
  return {.flop = 50e9, .bytes = 10e9, .source = "those of a typical core"};
}

Seconds guessed_turn(const LocalLayer& layer, const Rates& rates) {
  constexpr double of_peak = 0.6;     // share of the peak that a library reaches on typical layers
  constexpr double start = 3 * 5e-6;  // of three passes
  const double flop = 3 * 2 * products(layer);
  const double bytes = 4 * (3 * double(layer.x_items() + layer.y_items()) + 5 * double(layer.weights));
  return Seconds{start + flop / (of_peak * rates.flop) + bytes / (of_peak * rates.bytes)};
}

Seconds guessed_time(const std::vector<LocalLayer>& shapes, const Rates& rates, int turns) {
  constexpr double rounds = 2, warm_up = 1;
  constexpr double per_item = 5e-9, per_shape = 5e-3;  // to fill the memory, and to choose algorithms
  Seconds out;
  for (const LocalLayer& l : shapes) {
    const double items = 2 * double(l.x_items() + l.y_items()) + 3 * double(l.weights);
    out += rounds * ((warm_up + turns) * guessed_turn(l, rates) + Seconds{per_shape + per_item * items});
  }
  return out;
}

std::string about(Seconds time) {
  const double s = time.base();
  if (s < 90) return fmt::format("about {:.0f} s", std::max(1.0, std::ceil(s)));
  if (s < 5400) return fmt::format("about {:.0f} min", std::ceil(s / 60));
  return fmt::format("about {:.1f} h", s / 3600);
}

}  // namespace paradl::calibrate
