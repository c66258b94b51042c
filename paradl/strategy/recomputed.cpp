#include "paradl/strategy/recomputed.hpp"

#include <algorithm>

namespace paradl {

std::vector<int> recomputable_blocks(const Workload& work) {
  std::vector<int> blocks;
  for (const Layer& layer : work.layers)
    if (layer.block >= 0 && (blocks.empty() || blocks.back() != layer.block)) blocks.push_back(layer.block);
  for (const Layer& layer : work.layers)
    if (layer.vocabulary > 0 || layer.auxiliary) std::erase(blocks, layer.block);
  return blocks;
}

std::vector<bool> recomputed(const Workload& work, const PlacingRules& rules) {
  std::vector<bool> out(work.layers.size());
  if (rules.recompute == Recompute::none) return out;
  const std::vector<int> blocks = recomputable_blocks(work);
  // N of L blocks, evenly spread, so that every stage of a pipeline has its share.
  const auto L = std::int64_t(blocks.size());
  const std::int64_t N = rules.recomputed_blocks < 0 ? L : std::min<std::int64_t>(rules.recomputed_blocks, L);
  std::vector<int> chosen;
  for (std::int64_t k = 0; k < L; ++k)
    if ((k + 1) * N / L > k * N / L) chosen.push_back(blocks[std::size_t(k)]);
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    const Layer& layer = work.layers[i];
    const bool in = std::ranges::binary_search(chosen, layer.block);
    out[i] = in && (rules.recompute == Recompute::full || layer.scores > 0);
  }
  return out;
}

}  // namespace paradl
