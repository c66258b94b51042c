// What one PE holds, part by part.
#include <algorithm>

#include "paradl/cost/price.hpp"

namespace paradl {

Memory Pricer::memory_of(const Layout& layout, std::span<const StageKind::Share> shares, double samples,
                         double in_flight) const {
  const Training& training = setting_.training;
  const ItemBytes bytes = item_bytes(training.precision);
  double weights = 0, kept = 0, masks = 0, paper = 0, largest = 0;
  for (const auto& [id, count] : shares) {
    const Cell& cell = layout.cells[std::size_t(id)];
    const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
    weights += count * layer.weights / parts_[cell.weights];
    for (const Kept& k : cell.kept) kept += count * k.items / parts_[k.divided];
    masks += count * cell.mask.items / parts_[cell.mask.divided];
    if (is_view(layer.op)) continue;
    const double both = cell.x.items / parts_[cell.x.divided] + cell.y.items / parts_[cell.y.divided];
    paper += count * both;
    largest = std::max(largest, both);
  }
  Memory memory;
  memory.weights = weights * bytes.weight;
  memory.gradients = weights * bytes.gradient;
  memory.optimizer = weights * (bytes.master + optimizer_slots(training.optimizer) * Bytes{4});
  if (training.gamma) {
    // The paper's accounting: values and gradients of x, y and w, times gamma.
    memory.weights *= *training.gamma;
    memory.gradients *= *training.gamma;
    memory.activations = *training.gamma * 2 * paper * samples * in_flight * bytes.activation;
    return memory;
  }
  memory.activations = samples * in_flight * (kept * bytes.activation + masks * Bytes{1});
  // Two gradients of activations are alive at a time, and the buckets that are being filled and sent.
  memory.workspace = largest * samples * bytes.activation;
  const auto sends = [](const GradientGroup& group) { return group.path.size() > 1; };
  if (std::ranges::any_of(gradient_groups(), sends))
    memory.workspace += std::min(2.0 * training.bucket, 2.0 * weights * bytes.sent_gradient);
  return memory;
}

}  // namespace paradl
