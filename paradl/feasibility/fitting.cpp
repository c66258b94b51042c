#include "paradl/feasibility/fitting.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/planner.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

/// One thing that can be done otherwise: to the training, or to the mesh.
struct Change {
  std::string words;
  std::function<void(Training&)> training = [](Training&) {};
  std::optional<Mesh> mesh = {};
};

int parts(const Mesh& mesh, std::string_view strategy) {
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->name == strategy) return mesh.axis[std::size_t(a)].parts.total;
  return 1;
}

/// Changes that leave the number of GPUs as it is. They change neither results nor, much, their quality.
std::vector<Change> same_gpus(const Projection& p, const Setting& setting) {
  const Training& now = setting.training;
  std::vector<Change> out;
  const auto add = [&](std::string words, std::function<void(Training&)> change) {
    out.push_back({std::move(words), std::move(change)});
  };
  const bool scores = std::ranges::any_of(setting.work.layers, [](const Layer& l) { return l.scores > 0; });
  const bool blocks = !recomputable_blocks(setting.work).empty();
  if (scores && now.recompute == Recompute::none)
    add("--recompute selective", [](Training& t) { t.recompute = Recompute::selective; });
  if (blocks && now.recompute != Recompute::full)
    add("--recompute full", [](Training& t) { t.recompute = Recompute::full, t.recomputed_blocks = -1; });
  if (scores && parts(p.mesh, "tensor") > 1 && !now.sequence_parallel)
    add("--sequence-parallel on", [](Training& t) { t.sequence_parallel = true; });
  if (parts(p.mesh, "data") > 1 && !now.allreduce)
    for (int zero = now.zero + 1; zero <= 3; ++zero)
      add(fmt::format("--zero {}", zero), [zero](Training& t) { t.zero = zero; });
  const bool staged = parts(p.mesh, "layer") > 1;
  if (staged && now.schedule == PipelineSchedule::gpipe && now.micro_batches > 1)
    add("--schedule 1f1b", [](Training& t) { t.schedule = PipelineSchedule::one_forward_one_backward; });
  const double samples = p.batch / parts(p.mesh, "data") / parts(p.mesh, "expert");
  for (int S = 2 * now.micro_batches; S <= samples; S *= 2)
    add(fmt::format("--micro-batches {}{}", S, staged ? " --schedule 1f1b" : ""), [S, staged](Training& t) {
      t.micro_batches = S;
      if (staged) t.schedule = PipelineSchedule::one_forward_one_backward;
    });
  return out;
}

/// Twice the GPUs, on one axis or another; the mini-batch stays.
std::vector<Change> more_gpus(const Projection& p, const Setting& setting) {
  std::vector<Change> out;
  if (2 * p.gpus > setting.machine.gpus()) return out;
  for (int a = 0; a < p.mesh.axes; ++a) {
    Mesh mesh = p.mesh;
    Parts& parts = mesh.axis[std::size_t(a)].parts;
    parts.total *= 2;
    if (mesh.axis[std::size_t(a)].strategy->input == Placement::split_space) parts.cut[0] *= 2;
    out.push_back({.words = "twice the GPUs, --grid " + grid_text(mesh, false), .mesh = mesh});
  }
  return out;
}

bool only_memory_fails(const Projection& p) {
  return p.cost && std::ranges::all_of(p.limits.all(), [](const Limit& limit) {
           return limit.holds() || limit.rule == memory_rule;
         });
}

/// The fastest that fits.
std::optional<Remedy> best_of(const std::vector<std::vector<Change>>& choices, const Projection& p,
                              const Setting& setting) {
  std::optional<Remedy> best;
  for (const std::vector<Change>& changes : choices) {
    Setting other = setting;
    Mesh mesh = p.mesh;
    std::string words;
    for (const Change& change : changes) {
      change.training(other.training);
      if (change.mesh) mesh = *change.mesh;
      words += (words.empty() ? "" : " ") + change.words;
    }
    const Projection found = Planner(other).project(*p.strategy, mesh, p.batch);
    if (!found.feasible()) continue;
    if (!best || found.iteration() < best->projection.iteration())
      best = Remedy{words, fmt::format("{} {}", p.strategy->text, grid_text(p.mesh, true)), found};
  }
  return best;
}

enum class Attempt { one_change, two_changes, more_gpus };
constexpr std::array attempts{Attempt::one_change, Attempt::two_changes, Attempt::more_gpus};

std::vector<std::vector<Change>> choices(Attempt attempt, const Projection& p, const Setting& setting) {
  const std::vector<Change> changes =
      attempt == Attempt::more_gpus ? more_gpus(p, setting) : same_gpus(p, setting);
  std::vector<std::vector<Change>> out;
  if (attempt != Attempt::two_changes) {
    for (const Change& change : changes) out.push_back({change});
    return out;
  }
  for (std::size_t i = 0; i < changes.size(); ++i)
    for (std::size_t k = i + 1; k < changes.size(); ++k)
      // Two words of one option contradict each other.
      if (changes[i].words.substr(0, changes[i].words.find(' ')) !=
          changes[k].words.substr(0, changes[k].words.find(' ')))
        out.push_back({changes[i], changes[k]});
  return out;
}

}  // namespace

std::optional<Remedy> cheapest_fit(const Projection& p, const Setting& setting) {
  return cheapest_fit(std::span(&p, 1), setting);
}

std::optional<Remedy> cheapest_fit(std::span<const Projection> projections, const Setting& setting) {
  constexpr std::size_t few = 4;  // of those that come nearest
  std::vector<const Projection*> near;
  for (const Projection& p : projections)
    if (only_memory_fails(p) && !p.feasible() && !setting.training.gamma) near.push_back(&p);
  std::ranges::stable_sort(near, {}, [](const Projection* p) { return p->cost->memory.total(); });
  if (near.size() > few) near.resize(few);
  std::optional<Remedy> best;
  for (const Attempt attempt : attempts) {
    for (const Projection* p : near)
      if (auto found = best_of(choices(attempt, *p, setting), *p, setting);
          found && (!best || found->projection.iteration() < best->projection.iteration()))
        best = std::move(found);
    if (best) break;
  }
  return best;
}

std::string text(const Remedy& remedy) {
  return fmt::format("{} fits with {}: {}, {} per iteration", remedy.of, remedy.change,
                     text(remedy.projection.cost->memory.total()), text(remedy.projection.iteration()));
}

std::string text(const Remedy& remedy, const Projection& instead_of) {
  return fmt::format("{}: {}, {:.2f} times as long", remedy.change,
                     text(remedy.projection.cost->memory.total()),
                     remedy.projection.iteration() / instead_of.iteration());
}

}  // namespace paradl
