// Readings of what is exhausted: memory, samples or layers to split, samples of statistics.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/feasibility/evidence.hpp"
#include "paradl/feasibility/reason.hpp"

namespace paradl {
namespace {

/// How much one PE holds, and how much of that other PEs hold as well.
struct Copies {
  double all = 0, redundant = 0;
  void add(double amount, double holders) {
    all += amount;
    redundant += amount * (1 - 1 / std::max(1.0, holders));
  }
  double share() const { return all > 0 ? redundant / all : 0; }
};

}  // namespace

std::optional<Reading> read_replicas(const Evidence& e) {
  if (!e.details || e.setting.training.gamma) return {};
  const Memory& memory = e.projection.cost->memory;
  const int zero = e.setting.training.zero;
  const double sharers = parts_of(sharing_axes(e), e.mesh);
  Copies weights, gradients, states, activations;
  for (const auto& [id, count] : cells_of_stage(*e.details, e.projection.cost->worst_stage)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const double parts = parts_of(cell.weights, e.mesh), shards = e.details->evaluation.mesh.shards(cell);
    const double own = count * layer_of(e, cell).weights / parts, holders = sharers / parts;
    const auto add = [&](Copies& of, bool sharded) {
      of.add(sharded ? own / shards : own, sharded ? holders / shards : holders);
    };
    add(weights, zero >= 3);
    add(gradients, zero >= 2);
    add(states, zero >= 1);
    for (const Kept& kept : cell.kept)
      activations.add(count * kept.items / parts_of(kept.divided, e.mesh),
                      sharers / parts_of(kept.divided, e.mesh));
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

std::optional<Reading> read_fragmentation(const Evidence& e) {
  if (!e.projection.cost) return {};
  if (const auto& beyond = e.projection.out_of_core; beyond && beyond->plans()) return {};  // full on purpose
  const Bytes need = e.projection.cost->memory.total(), device = e.setting.machine.device.memory;
  const double share = need / device;
  if (share > 1) return {};  // does not fit anyway
  return Reading{share, share, "allocator",
                 fmt::format("{} of {} are in use: only {} are free for allocator fragmentation", text(need),
                             text(device), text(device - need))};
}

std::optional<Reading> read_bounds(const Evidence& e) {
  std::optional<Reading> out;
  for (const Limit& limit : e.projection.limits.all()) {
    if (limit.relation() != Relation::at_most || !(limit.bound > 0)) continue;
    const double ratio = limit.value / limit.bound;
    if (out && ratio <= out->value) continue;
    const std::string layer = limit.layer >= 0 ? e.setting.work.layers[std::size_t(limit.layer)].name : "";
    out = {ratio, 0, layer.empty() ? std::string(limit.name()) : layer,
           limit.holds() ? fmt::format("{}: {:g} of {:g} are used", limit.name(), limit.value, limit.bound)
                         : reason(limit, e.setting.work)};
  }
  return out;
}

std::optional<Reading> read_node_storage(const Evidence& e) {
  for (const Limit& limit : e.projection.limits.all())
    if (limit.rule == LimitRule::storage) {
      const double share = limit.value / limit.bound;
      return Reading{share, 0, "storage of a node",
                     limit.holds() ? fmt::format("a node stores {} of the data set, of {}",
                                                 decimal(Bytes{limit.value}), decimal(Bytes{limit.bound}))
                                   : reason(limit, e.setting.work),
                     !limit.holds()};
    }
  return {};
}

std::optional<Reading> read_batch_norm(const Evidence& e) {
  const auto& layers = e.setting.work.layers;
  const auto norm = std::ranges::find(layers, Op::batch_norm, &Layer::op);
  const double parts = sample_parts(e.mesh);
  if (norm == layers.end() || parts <= 1 || e.setting.training.synchronised_batch_norm) return {};
  const double samples = e.projection.batch / parts / e.setting.training.micro_batches;
  const auto count = std::ranges::count(layers, Op::batch_norm, &Layer::op);
  return Reading{
      samples, 0, count > 1 ? fmt::format("{} and {} more", norm->name, count - 1) : norm->name,
      fmt::format("the batch norms of a GPU use {:.3g} sample{}", samples, samples == 1 ? "" : "s")};
}

}  // namespace paradl
