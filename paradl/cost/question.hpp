#pragma once
#include <array>
#include <optional>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

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

/// The grids on which a question tries one of its strategies with p GPUs. If the user named no strategies,
/// there are none where it is the same as a simpler one: a hybrid with an axis of one GPU, `data` on one GPU.
/// `dims`: number of extents of a sample.
std::vector<Mesh> meshes(const Question& question, const StrategyName& strategy, int p, int dims);

/// Whether `a` is the better answer: it fits and is faster, or it is nearer to fitting.
bool better(const Projection& a, const Projection& b);
/// Sorts the best first.
void rank(std::vector<Projection>& projections);

}  // namespace paradl
