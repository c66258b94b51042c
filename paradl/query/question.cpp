// The strategies, GPUs, mini-batches and grids that a query wants to try.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/paper/row.hpp"
#include "paradl/query/case.hpp"
#include "paradl/query/words.hpp"

namespace paradl {
namespace {

/// The named strategies, or the default ones.
std::vector<StrategyName> strategies_of(const Query& query, Fidelity fidelity) {
  if (query.strategies) return *query.strategies;
  std::vector<StrategyName> out = default_strategies();
  if (fidelity == Fidelity::paper)
    std::erase_if(out, [](const StrategyName& s) { return !paper::find_row(s.text); });
  return out;
}

double size_of(const std::vector<Parts>& grid) {
  double size = 1;
  for (const Parts& parts : grid) size *= parts.total;
  return size;
}

/// "data=16,spatial=2x2".
std::string text_of(const std::vector<Parts>& grid, const StrategyName& strategy) {
  std::string out;
  for (std::size_t a = 0; a < grid.size(); ++a) {
    const auto& [total, cut] = grid[a];
    const std::size_t extents = cut[2] > 1 ? 3 : cut[1] > 1 ? 2 : 0;  // 0: the extents are not given
    out += fmt::format("{}{}={}", a ? "," : "", strategy.axes[a]->name,
                       extents == 0 ? fmt::format("{}", total)
                                    : fmt::format("{}", fmt::join(std::span(cut).first(extents), "x")));
  }
  return out;
}

/// A grid can only cut extents that samples have, and needs at most all GPUs of the machine.
void check_grid(const std::vector<Parts>& grid, const std::string& text, const Case& about) {
  const int extents = about.work.input.dims;
  for (const Parts& parts : grid)
    for (std::size_t d = std::size_t(extents); d < 3; ++d)
      if (parts.cut[d] > 1)
        throw UsageError(fmt::format("--grid {}: samples of {} have {} extent{} to cut", text,
                                     about.work.name, extents, extents == 1 ? "" : "s"),
                         extents == 1 ? "write spatial=4" : "write spatial=2x2");
  for (const Parts& parts : grid)
    if (about.training.framework.one_extent && (parts.cut[1] > 1 || parts.cut[2] > 1))
      throw UsageError(fmt::format("--grid {}: framework {} splits samples only along their first extent",
                                   text, about.framework_spec.name),
                       fmt::format("write spatial={}, or add --set framework.spatial-cut=any", parts.total));
  if (const double size = size_of(grid); size > about.machine.gpus())
    throw UsageError(fmt::format("{} has {} GPUs, but the grid {} needs {}", about.machine.name,
                                 about.machine.gpus(), text, size),
                     "choose smaller sizes, or a larger system");
}

/// A mini-batch must have whole samples. (That of a model file, which is per GPU, is rounded up instead.)
void check_batch(const BatchRule& rule, const std::vector<int>& gpus, const Machine& machine) {
  for (const int p : gpus)
    if (const double batch = rule.samples(p, machine); batch != std::floor(batch))
      throw UsageError(fmt::format("a mini-batch of {} is {} samples on {} GPU{}", text_of(rule), batch, p,
                                   p == 1 ? "" : "s"),
                       "choose one that gives whole samples, or write the whole mini-batch: -b 32");
}

/// A grid implies the number of GPUs; if -p is also given, it must be the same.
void take_grid(const Query& query, const Case& about, Question& q) {
  if (q.strategies.size() != 1 || query.grid->size() != q.strategies.front().axes.size())
    blame({query.grid.origin(), query.strategies.origin()},
          UsageError("--grid has the sizes of one strategy's axes", "name the strategy: -s data+filter"));
  const std::string text = text_of(*query.grid, q.strategies.front());
  blaming({query.grid.origin()}, [&] { check_grid(*query.grid, text, about); });
  q.grid = *query.grid;
  const double size = size_of(*q.grid);
  if (!query.gpus) q.gpus = {int(size)};
  if (q.gpus != std::vector{int(size)})
    blame(
        {query.grid.origin(), query.gpus.origin()},
        UsageError(fmt::format("the grid {} has {} GPUs, but -p says {}", text, size, fmt::join(q.gpus, ",")),
                   fmt::format("leave -p out, or write -p {}", size)));
}

}  // namespace

Question question_of(const Query& query, const Case& about) {
  Question q;
  q.named = bool(query.strategies);
  q.strategies = strategies_of(query, about.fidelity);
  if (query.gpus)
    q.gpus = blaming({query.gpus.origin()}, [&] { return gpus_of(*query.gpus, about.machine); });
  if (query.grid)
    take_grid(query, about, q);
  else if (!query.gpus)
    throw UsageError("the number of GPUs is missing",
                     "add -p 64; `project` and `collectives` also take ranges, such as -p 16..1024");
  for (const StrategyName& s : q.strategies)
    if (q.named && s.axes.empty() && std::ranges::any_of(q.gpus, [](int p) { return p > 1; }))
      blame({query.strategies.origin(), query.gpus.origin()},
            UsageError("`serial` runs on one GPU", "use -p 1, or leave serial out"));
  q.batch = query.batch.value_or({.per = BatchRule::Per::gpu, .value = about.work.batch});
  if (query.batch) blaming({query.batch.origin()}, [&] { check_batch(q.batch, q.gpus, about.machine); });
  if (about.training.framework.one_extent) q.most_extents = 1;
  q.grids = query.grids.value_or(Grids::best);
  if (about.training.gamma && std::ranges::any_of(q.strategies, &StrategyName::out_of_core))
    blame({query.gamma.origin(), query.strategies.origin()},
          UsageError("--gamma uses the paper's memory formula, which has no out-of-core plans",
                     "leave --gamma or /ooc out"));
  return q;
}

}  // namespace paradl
