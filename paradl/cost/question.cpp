#include "paradl/cost/question.hpp"

#include <algorithm>

namespace paradl {
namespace {

bool cuts_space(const Strategy& strategy) { return strategy.input == Placement::split_space; }

/// All ways to write p as a product of `axes` factors of at least `least`.
void factor(int p, std::size_t axes, int least, std::vector<int>& prefix,
            std::vector<std::vector<int>>& out) {
  if (axes == 1) {
    if (p < least) return;
    prefix.push_back(p);
    out.push_back(prefix);
    prefix.pop_back();
    return;
  }
  for (int n = least; n <= p; ++n) {
    if (p % n != 0) continue;
    prefix.push_back(n);
    factor(p / n, axes - 1, least, prefix, out);
    prefix.pop_back();
  }
}

/// How far a projection is from fitting: the worst ratio of value to bound among its broken limits.
double excess(const Projection& p) {
  double worst = 1;
  for (const Limit& limit : p.limits.all())
    if (!limit.holds()) worst = std::max(worst, limit.bound > 0 ? limit.value / limit.bound : 1e300);
  return worst;
}

}  // namespace

std::vector<Mesh> meshes(const StrategyName& strategy, const std::vector<Parts>& sizes, int extents) {
  Mesh mesh;
  int open = -1;
  for (std::size_t a = 0; a < strategy.axes.size(); ++a) {
    const bool settled = sizes[a].cut != std::array{1, 1, 1};
    if (cuts_space(*strategy.axes[a]) && !settled) open = int(a);
    mesh.axis[std::size_t(mesh.axes++)] = {strategy.axes[a], sizes[a]};
  }
  if (open < 0) return {mesh};
  std::vector<Mesh> out;
  for (const auto& cut : cuts(sizes[std::size_t(open)].total, extents)) {
    mesh.axis[std::size_t(open)].parts.cut = cut;
    out.push_back(mesh);
  }
  return out;
}

std::vector<std::array<int, 3>> cuts(int parts, int extents) {
  std::vector<std::array<int, 3>> out;
  for (int a = 1; a <= parts; ++a) {
    if (parts % a != 0) continue;
    for (int b = 1; b <= parts / a; ++b) {
      if (parts / a % b != 0) continue;
      const int c = parts / a / b;
      if ((extents < 2 && b > 1) || (extents < 3 && c > 1)) continue;
      out.push_back({a, b, c});
    }
  }
  return out;
}

std::vector<Mesh> meshes(const StrategyName& strategy, int p, int extents) {
  std::vector<std::vector<int>> sizes;
  std::vector<int> prefix;
  if (strategy.axes.empty()) return {Mesh{}};
  if (strategy.axes.size() > 1) factor(p, strategy.axes.size(), 2, prefix, sizes);
  if (sizes.empty()) factor(p, strategy.axes.size(), 1, prefix, sizes);
  std::vector<Mesh> out;
  for (const std::vector<int>& size : sizes) {
    std::vector<Parts> parts;
    for (const int n : size) parts.push_back({.total = n});
    const auto cut = meshes(strategy, parts, extents);
    out.insert(out.end(), cut.begin(), cut.end());
  }
  return out;
}

std::vector<Mesh> meshes(const Question& question, const StrategyName& strategy, int p, int dims) {
  const bool proper = strategy.axes.empty() ? p == 1 : p >= (1 << strategy.axes.size());
  if (!question.named && !proper) return {};
  const int extents = std::clamp(dims, 1, question.most_extents);
  auto out = question.grid ? meshes(strategy, *question.grid, extents) : meshes(strategy, p, extents);
  const bool prime = out.front().axes > 1 && out.front().axis[0].parts.total == 1;
  if (!question.named && prime) return {};
  return out;
}

bool better(const Projection& a, const Projection& b) {
  if (a.feasible() != b.feasible()) return a.feasible();
  if (a.feasible()) return a.iteration() / a.plan.batch < b.iteration() / b.plan.batch;
  if (a.cost.has_value() != b.cost.has_value()) return a.cost.has_value();
  return excess(a) < excess(b);
}

void rank(std::vector<Projection>& projections) { std::ranges::stable_sort(projections, better); }

}  // namespace paradl
