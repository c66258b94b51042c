// What one PE holds, part by part.
#include <algorithm>

#include "paradl/cost/price.hpp"

namespace paradl {

Bytes Pricer::rebuilt(const Layout& layout, double samples) const {
  Bytes out;
  for (const Kept& k : layout.rebuilt) out += items_of(k) * samples * setting_.training.bytes().activation;
  for (const Kept& k : layout.rebuilt_masks) out += items_of(k) * samples * Bytes{1};
  return out;
}

Memory Pricer::memory_of(const Layout& layout, std::span<const StageKind::Share> shares, double samples,
                         double in_flight) const {
  const Training& training = setting_.training;
  const ItemBytes bytes = training.bytes();
  double weights = 0, gradients = 0, states = 0, kept = 0, masks = 0, paper = 0, largest = 0, table = 0;
  const auto holds = [&](int id) {
    return std::ranges::find(shares, id, &StageKind::Share::cell) != shares.end();
  };
  for (const auto& [id, count] : shares) {
    const Cell& cell = layout.cells[std::size_t(id)];
    const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
    // A stage that uses the weights of a layer on another has a copy of them.
    const bool copies = layer.tied >= 0 && !holds(layout.order[std::size_t(layer.tied)]);
    const double copied = copies ? setting_.work.layers[std::size_t(layer.tied)].weights : 0;
    const double own = weights_of(layout, cell) + growth_of(cell) * copied / parts_[cell.weights];
    const double shards_of_it = shards(cell);
    weights += count * (training.zero >= 3 ? own / shards_of_it : own);
    gradients += count * (training.zero >= 2 ? own / shards_of_it : own);
    states += count * (training.zero >= 1 ? own / shards_of_it : own);
    table = std::max(table, own);
    for (const Kept& k : cell.kept) kept += count * items_of(k);
    masks += count * items_of(cell.mask);
    if (is_view(layer.op)) continue;
    const double both = items_of(cell.x) + items_of(cell.y);
    paper += count * both;
    largest = std::max(largest, both);
  }
  Memory memory;
  memory.weights = weights * bytes.weight;
  memory.gradients = gradients * bytes.gradient;
  memory.optimizer = states * (bytes.master + optimizer_slots(training.optimizer) * Bytes{4});
  if (training.gamma) {
    // The paper's accounting: values and gradients of x, y and w, times gamma.
    memory.weights *= *training.gamma;
    memory.gradients *= *training.gamma;
    memory.activations = *training.gamma * 2 * paper * samples * in_flight * bytes.activation;
    return memory;
  }
  memory.activations = samples * in_flight * (kept * bytes.activation + masks * Bytes{1});
  // Two gradients of activations are alive at a time, and what was not kept of the block that is at its
  // backward pass.
  memory.workspace = largest * samples * bytes.activation + rebuilt(layout, samples);
  // The buckets of gradients that are being filled and sent; with ZeRO 3 the weights of a layer that are
  // gathered for now and for next.
  const auto sends = [](const GradientGroup& group) { return group.path.size() > 1; };
  if (std::ranges::any_of(gradient_groups(), sends))
    memory.buffers = std::min(2.0 * training.bucket, 2.0 * gradients * bytes.sent_gradient);
  if (training.zero >= 3) memory.buffers += 2 * table * bytes.weight;
  memory.reserve = training.reserve + training.fragmentation * (memory.activations + memory.workspace);
  return memory;
}

Memory Pricer::stage_memory(const Layout& layout, const StagePlan& plan, const StageKind& kind,
                            double samples) const {
  return memory_of(layout, kind.cells, samples, in_flight(layout, plan, kind, samples));
}

}  // namespace paradl
