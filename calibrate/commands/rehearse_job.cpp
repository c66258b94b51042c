#include "calibrate/commands/rehearse_job.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/measure/layer_plan.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/cost/sweep.hpp"

namespace paradl::calibrate {

std::int64_t read_samples(const Options& options, const Workload& work, int ranks, int nodes) {
  BatchRule rule{.per = BatchRule::Per::gpu, .value = work.batch};
  if (options.has("batch")) rule = options.read("batch", "", read_batch);
  const double each = rule.per == BatchRule::Per::gpu ? ranks : rule.per == BatchRule::Per::node ? nodes : 1;
  const double samples = rule.value * each;
  if (samples < 1 || samples != std::floor(samples) || samples > 1e6)
    throw UsageError(fmt::format("a mini-batch of {} samples cannot be rehearsed", samples), "add -b 16");
  return std::int64_t(samples);
}

std::vector<StrategyName> all_strategies() {
  std::vector<StrategyName> out;
  for (const char* name : {"data", "spatial", "filter", "channel", "tensor", "layer", "data+filter",
                           "data+spatial", "data+tensor", "data+layer"})
    out.push_back(read_strategy(name));
  return out;
}

std::vector<Candidate> find_candidates(const std::vector<StrategyName>& strategies, const std::string& grid,
                                       Ones ones, const Workload& work, int ranks, double samples) {
  std::vector<Candidate> out;
  std::string reason;
  for (const StrategyName& strategy : strategies) {
    for (const Strategy* axis : strategy.axes)
      if (!axis->usual)
        throw UsageError(fmt::format("`{}` cannot be rehearsed: only the oracle knows it", axis->name),
                         "leave it out");
    const int extents = std::max(1, work.input.dims);
    std::vector<Mesh> grids = meshes(strategy, ranks, extents);
    if (!grid.empty()) {
      if (strategies.size() != 1)
        throw UsageError("--grid goes with one strategy", "name it: -s data+filter");
      grids = meshes(strategy, read_grid(grid, strategy), extents);
      if (grids[0].gpus() != ranks)
        throw UsageError(
            fmt::format("the grid {} has {} PEs, but there are {} ranks", grid, grids[0].gpus(), ranks),
            fmt::format("start it with mpirun -np {}", grids[0].gpus()));
    }
    std::erase_if(grids, [&](const Mesh& mesh) {
      return mesh.gpus() != ranks || (ones == Ones::refused && without_ones(mesh).axes < mesh.axes);
    });
    for (const Mesh& mesh : grids) {
      const std::string limit = broken_limit(work, mesh, samples);
      if (!limit.empty()) {
        reason = limit;
        continue;
      }
      out.push_back({strategy, mesh});
      break;
    }
  }
  if (out.empty())
    throw UsageError(fmt::format("no strategy fits {} on {} rank{}{}", work.name, ranks,
                                 ranks == 1 ? "" : "s", reason.empty() ? "" : ": " + reason),
                     ranks == 1 ? "start it with mpirun -np 2" : "use a larger -b, or another strategy");
  return out;
}

}  // namespace paradl::calibrate
