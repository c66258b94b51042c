#pragma once
#include <functional>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// How one strategy on one grid is priced: by the engine, or by the paper's table.
using Project = std::function<Projection(const StrategyName&, const Mesh&, double batch)>;

enum class Grids { best, all };

/// What to try.
struct Question {
  std::vector<StrategyName> strategies;
  bool named = false;  // the user asked for these strategies, so each gets an answer
  std::vector<int> gpus;
  BatchRule batch;
  std::optional<std::vector<Parts>> grid;  // of the one strategy asked for
  Grids grids = Grids::best;
  int most_extents = 3;  // along which space may be cut
};

/// Every mesh that a strategy can have on p GPUs; a strategy of several axes has at least two parts on each,
/// where p allows that.
std::vector<Mesh> meshes(const StrategyName& strategy, int p, int extents);

/// The meshes of these sizes: one for each way to cut space, if an axis does that and its cut is not settled.
std::vector<Mesh> meshes(const StrategyName& strategy, const std::vector<Parts>& sizes, int extents);

/// The cuts of space into `parts` along up to `extents` extents.
std::vector<std::array<int, 3>> cuts(int parts, int extents);

/// Prices every grid and keeps all of them, or the best for each strategy and number of GPUs: the fastest
/// that fits, else the one that comes nearest to fitting.
std::vector<Projection> sweep(const Question& question, const Workload& work, const Machine& machine,
                              const Project& project);

/// Whether `a` is the better answer.
bool better(const Projection& a, const Projection& b);

}  // namespace paradl
