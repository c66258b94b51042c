// Batch-norm quality: statistics over few samples.
// Trigger from the ParaDL report: statistics of 2 to 4 samples.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  const auto& layers = e.setting.work.layers;
  const auto norm = std::ranges::find(layers, Op::batch_norm, &Layer::op);
  const double parts = sample_parts(e.mesh);
  if (norm == layers.end() || parts <= 1 || e.setting.training.synchronised_batch_norm) return {};
  const double samples = e.projection.plan.batch / parts / e.projection.plan.micro_batches;
  const auto count = std::ranges::count(layers, Op::batch_norm, &Layer::op);
  return Reading{
      samples, 0, count > 1 ? fmt::format("{} and {} more", norm->name, count - 1) : norm->name,
      fmt::format("the batch norms of a GPU use {:.3g} sample{}", samples, samples == 1 ? "" : "s")};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::batch_norm_quality, "batch-norm-samples",
            "samples in the statistics of one batch norm",
            Reads::count, Sense::at_most, 4, 0, 1e6, false, read}};

constexpr std::array remedies{
    ChangeKind::synchronised_batch_norm};

}  // namespace

extern constinit const Entry batch_norm_quality_entry{
    .name = "batch_norm_quality",
    .title = "batch-norm quality",
    .nature = Nature::limit,
    .meaning = "batch-norm statistics over too few samples harm training",
    .measures = own_measures,
    .remedies = remedies,
    .worth = Worth::always};

}  // namespace paradl
