// Computation redundancy: layers that run whole on every GPU, or inefficiently in parts.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

/// Time of one GPU for the passes of a kind of layer in one iteration.
Seconds work_of(const Evidence& e, std::size_t cell) {
  const CellCost& cost = e.details->evaluation.passes.cells[cell];
  return e.projection.plan.micro_batches * (cost.forward + cost.backward);
}

/// Cells of the stage that takes longest, with their counts.
const std::vector<StageKind::Share>& busiest_cells(const Evidence& e) {
  int slowest = 0;
  for (int s = 1; s < e.details->evaluation.stages->stages; ++s)
    if (stage_time(*e.details, s) > stage_time(*e.details, slowest)) slowest = s;
  return cells_of_stage(*e.details, slowest);
}

/// "conv1", or "conv1 and 12 more".
std::string names(const Evidence& e, const std::vector<std::pair<Seconds, std::size_t>>& cells) {
  const auto most = std::ranges::max_element(cells);
  double layers = 0;
  for (const auto& [time, cell] : cells) layers += e.details->evaluation.layout->cells[cell].count;
  const std::string& name = layer_of(e, e.details->evaluation.layout->cells[most->second]).name;
  return layers > 1 ? fmt::format("{} and {:g} more", name, layers - 1) : name;
}

std::optional<Reading> read_whole_layers(const Evidence& e) {
  if (!e.details) return {};
  const AxisSet all = sharing_axes(e);
  const auto& parts = e.details->evaluation.mesh.parts;
  Seconds total, whole, spared;
  std::vector<std::pair<Seconds, std::size_t>> cells;
  for (const auto& [id, count] : busiest_cells(e)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const Seconds time = count * work_of(e, std::size_t(id));
    total += time;
    const double repeats = parts[AxisSet(all & ~cell.work)];
    if (!(repeats > 1) || !(time > Seconds{})) continue;
    whole += time;
    spared += (1 - 1 / repeats) * time;
    cells.emplace_back(time, std::size_t(id));
  }
  if (cells.empty()) return {};
  return Reading{whole / total, share_of(e, spared), names(e, cells),
                 fmt::format("layers that run whole on every GPU of an axis take {} of forward and backward",
                             percent(whole / total))};
}

std::optional<Reading> read_split_overhead(const Evidence& e) {
  if (!e.details) return {};
  const auto& parts = e.details->evaluation.mesh.parts;
  Seconds actual, part;
  std::vector<std::pair<Seconds, std::size_t>> cells;
  for (const auto& [id, count] : busiest_cells(e)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const bool split = parts[cell.weights] > 1 || cell.halo_axis >= 0;
    const LayerTime& alone = e.setting.times.layer[std::size_t(cell.layer)];
    if (!split || !traits(layer_of(e, cell).op).product) continue;
    const Seconds time = count * work_of(e, std::size_t(id));
    const double samples = count * e.projection.plan.batch / parts[cell.work];
    const Seconds ideal = samples * (alone.FW + alone.BW);
    actual += time;
    part += ideal;
    cells.emplace_back(time - ideal, std::size_t(id));
  }
  if (cells.empty() || !(part > Seconds{})) return {};
  const double ratio = std::max(1.0, actual / part);
  return Reading{
      ratio, share_of(e, std::max(Seconds{}, actual - part)), names(e, cells),
      fmt::format("split layers take {} per iteration, {:.2f} times their share of the whole layers' time",
                  text(actual), ratio)};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::computation_redundancy, "whole-layers",
            "layers that run whole on every GPU / forward and backward",
            Reads::share, Sense::above, 0.2, 0, 1, true, read_whole_layers, computation_terms},
    Measure{BottleneckKind::computation_redundancy, "split-overhead",
            "time of split layers / their share of the whole layers' time",
            Reads::ratio, Sense::above, 1.5, 1, 1e6, true, read_split_overhead, computation_terms}};

constexpr std::array remedies{
    ChangeKind::split_layers, ChangeKind::faster_split_layers, ChangeKind::tensor_instead,
    ChangeKind::more_data, ChangeKind::data_between_nodes};

}  // namespace

extern constinit const Entry computation_redundancy_entry{
    .name = "computation_redundancy",
    .title = "computation redundancy",
    .nature = Nature::bottleneck,
    .meaning =
        "layers that are not split run whole on every GPU, or split layers take longer than their share",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
