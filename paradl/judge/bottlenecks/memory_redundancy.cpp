// Memory redundancy: copies of the same data, and layers too large for a device.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

/// How much one GPU holds, and how much of that other GPUs hold as well.
struct Copies {
  double all = 0, redundant = 0;
  void add(double amount, double holders) {
    all += amount;
    redundant += amount * (1 - 1 / std::max(1.0, holders));
  }
  double share() const { return all > 0 ? redundant / all : 0; }
};

std::optional<Reading> read_copies(const Evidence& e) {
  if (!e.details || e.setting.training.gamma) return {};
  const Memory& memory = e.projection.cost->memory;
  const int zero = e.projection.plan.zero;
  const MeshTable& mesh = e.details->evaluation.mesh;
  const double sharers = mesh.parts[sharing_axes(e)];
  Copies weights, gradients, states, activations;
  for (const auto& [id, count] : cells_of_stage(*e.details, e.projection.cost->worst_stage)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const double parts = mesh.parts[cell.weights], shards = mesh.shards(cell);
    const double own = count * layer_of(e, cell).weights / parts, holders = sharers / parts;
    const auto add = [&](Copies& of, bool sharded) {
      of.add(sharded ? own / shards : own, sharded ? holders / shards : holders);
    };
    add(weights, zero >= 3);
    add(gradients, zero >= 2);
    add(states, zero >= 1);
    for (const Kept& kept : cell.kept)
      activations.add(count * kept.items / mesh.parts[kept.divided], sharers / mesh.parts[kept.divided]);
  }
  const Bytes of_weights = weights.share() * memory.weights + gradients.share() * memory.gradients +
                           states.share() * memory.optimizer;
  const Bytes of_activations = activations.share() * memory.activations;
  const Bytes redundant = of_weights + of_activations;
  const double share = redundant / e.setting.machine.device.memory;
  const bool mostly_weights = of_weights >= of_activations;
  return Reading{
      share, share, mostly_weights ? "weights, gradients and optimizer" : "activations",
      fmt::format("{} of the {} in use are copies of data on other GPUs, mostly {}", text(redundant),
                  text(memory.total()), mostly_weights ? "weights, gradients and optimizer" : "activations")};
}

std::optional<Reading> read_largest_layer(const Evidence& e) {
  if (!e.details || e.setting.training.gamma) return {};
  const Bytes need = e.details->largest_layer, device = e.setting.machine.device.memory;
  const std::string& name = e.setting.work.layers[std::size_t(e.details->largest)].name;
  const double share = need / device;
  return Reading{
      share, share, name,
      fmt::format(
          "layer {} alone needs {}{}", name, text(need),
          need > device
              ? fmt::format(", but the device has {}: the layer must be split, a pipeline does not help",
                            text(device))
              : "")};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::memory_redundancy, "memory-redundancy",
            "data that other GPUs also hold / memory of the device",
            Reads::share, Sense::above, 0.25, 0, 1, false, read_copies},
    Measure{BottleneckKind::memory_redundancy, "largest-layer",
            "memory of the largest layer / memory of the device",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_largest_layer}};

constexpr std::array remedies{
    ChangeKind::sharded_optimizer, ChangeKind::sharded_weights, ChangeKind::selective_recomputation,
    ChangeKind::full_recomputation, ChangeKind::sequence_parallelism, ChangeKind::split_memory};

}  // namespace

extern constinit const Entry memory_redundancy_entry{
    .name = "memory_redundancy",
    .title = "memory redundancy",
    .nature = Nature::bottleneck,
    .meaning = "GPUs hold copies of the same data, or one layer alone exceeds the memory of a device",
    .measures = own_measures,
    .remedies = remedies,
    .worth = Worth::free_memory};

}  // namespace paradl
