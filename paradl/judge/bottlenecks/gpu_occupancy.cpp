// GPU occupancy: kernels that are inefficient at this mini-batch.
#include <fmt/format.h>

#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  if (!e.details) return {};
  const Cost& cost = *e.projection.cost;
  const Seconds passes = cost[Term::forward] + cost[Term::backward] + cost[Term::recompute];
  const BestBatch best_batch = paradl::best_batch(e);
  const double ratio = passes / (e.projection.plan.batch * best_batch.per_sample);
  const double here = e.projection.plan.batch / e.projection.gpus,
               best = best_batch.samples / e.projection.gpus;
  return Reading{ratio, (1 - 1 / ratio) * share_of(e, passes), fmt::format("{:.3g} samples per GPU", here),
                 ratio > 1
                     ? fmt::format("compute time per sample is {:.2f} times that with {:.3g} samples per GPU",
                                   ratio, best)
                     : fmt::format("no mini-batch that fits has a shorter compute time per sample")};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::gpu_occupancy, "gpu-occupancy",
            "compute time per sample, relative to the best batch size that fits",
            Reads::ratio, Sense::above, 1.25, 1, 1e6, true, read, computation_terms}};

constexpr std::array remedies{
    ChangeKind::best_batch, ChangeKind::more_data};

}  // namespace

extern constinit const Entry gpu_occupancy_entry{
    .name = "gpu_occupancy",
    .title = "GPU occupancy",
    .nature = Nature::bottleneck,
    .meaning = "kernels are inefficient with this number of samples per GPU",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
