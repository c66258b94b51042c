// Gradient exchange: GPUs with the same weights sum their gradients.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/cost/question.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

/// If leaders send: ": one leader per node sends, through one of 2 ports, which takes 1.9 times as long as
/// data on as many GPUs".
std::string beside_data(const Evidence& e) {
  const Machine& machine = e.setting.machine;
  if (e.setting.training.framework.hybrid_gradients != GradientRoute::leader || e.mesh.axes < 2 ||
      e.projection.gpus <= machine.gpus_per_node())
    return {};
  const Mesh all = meshes(hybrid({&outer_strategy()}), int(e.projection.gpus), 1).front();
  Setting bare = e.setting;
  bare.training.overlap = false;  // what is hidden counts as well
  const Evaluator evaluator(bare);
  const auto sum = [&](const Mesh& mesh, bool out_of_core) {
    // Samples enough for all: what is summed does not depend on them.
    Plan plan = e.projection.plan;
    plan.mesh = mesh, plan.out_of_core = out_of_core;
    plan.batch = std::max(plan.batch, e.projection.gpus);
    const Projection p = evaluator.project(plan);
    return p.cost ? (*p.cost)[Term::gradient_exchange] : Seconds{};
  };
  const double ports = machine.levels[1].ports;
  std::string out =
      fmt::format(": one leader per node sends, through one of {:g} port{}", ports, ports == 1 ? "" : "s");
  if (const Seconds alone = sum(all, false); alone > Seconds{})
    out += fmt::format(", which takes {:.1f} times as long as data on as many GPUs",
                       sum(e.projection.plan.mesh, e.projection.plan.out_of_core) / alone);
  return out;
}

std::optional<Reading> read(const Evidence& e) {
  auto out = read_term(e, Term::gradient_exchange, "the gradient exchange takes");
  if (out && e.details) out->message += beside_data(e);
  return out;
}

constexpr std::array own_measures{
    Measure{BottleneckKind::gradient_exchange, "gradient-exchange",
            "exposed gradient exchange / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read}};

constexpr std::array remedies{
    ChangeKind::overlap, ChangeKind::rings_per_part, ChangeKind::rings_per_level, ChangeKind::faster_packing,
    ChangeKind::faster_tensors, ChangeKind::other_allreduce, ChangeKind::twice_the_batch,
    ChangeKind::more_data, ChangeKind::faster_gradient_links};

}  // namespace

extern constinit const Entry gradient_exchange_entry{
    .name = "gradient_exchange",
    .title = "gradient exchange",
    .nature = Nature::limit,
    .meaning = "GPUs with the same weights sum their gradients in every iteration",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
