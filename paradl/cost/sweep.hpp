#pragma once
#include <functional>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// Prices one strategy on one grid: with the engine, or with the paper's table.
using Project = std::function<Projection(const StrategyName&, const Mesh&, double batch)>;

/// A lower bound for the iteration of that projection, which takes less work to find; zero if none is known.
using Bound = std::function<Seconds(const StrategyName&, const Mesh&, double batch)>;

enum class Grids { best, all };

/// The strategies, numbers of GPUs and grids to try.
struct Question {
  std::vector<StrategyName> strategies;
  bool named = false;  // the user named these strategies, so each gets an answer
  std::vector<int> gpus;
  BatchRule batch;
  std::optional<std::vector<Parts>> grid;  // of the only strategy
  Grids grids = Grids::best;
  int most_extents = 3;  // number of extents along which space may be cut
};

/// Every mesh that a strategy can have on p GPUs. A hybrid has at least two parts on each axis, if p allows
/// it.
std::vector<Mesh> meshes(const StrategyName& strategy, int p, int extents);

/// The meshes of these sizes: one for each cut of space, if an axis cuts space and its cut is not given.
std::vector<Mesh> meshes(const StrategyName& strategy, const std::vector<Parts>& sizes, int extents);

/// All cuts of space into `parts` parts along up to `extents` extents.
std::vector<std::array<int, 3>> cuts(int parts, int extents);

/// Prices every grid and keeps all of them, or the best one for each strategy and number of GPUs: the fastest
/// that fits, else the one that is closest to fitting. A grid that cannot be the best, by its bound, is not
/// priced.
std::vector<Projection> sweep(const Question& question, const Workload& work, const Machine& machine,
                              const Project& project, const Bound& bound);

/// Whether `a` is the better answer.
bool better(const Projection& a, const Projection& b);

}  // namespace paradl
