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
  const bool attends =
      std::ranges::any_of(setting.work.layers, [](const Layer& l) { return l.kv_share > 0; });
  const bool blocks = !recomputable_blocks(setting.work).empty();
  if (scores && now.recompute == Recompute::none)
    add("--recompute selective", [](Training& t) { t.recompute = Recompute::selective; });
  if (blocks && now.recompute != Recompute::full)
    add("--recompute full", [](Training& t) { t.recompute = Recompute::full, t.recomputed_blocks = -1; });
  if (attends && parts(p.mesh, "tensor") > 1 && !now.sequence_parallel)
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

using Changes = std::vector<Change>;

/// The oracle's answer with some changes; nothing if it does not fit.
std::optional<Remedy> mended(const Changes& changes, const Projection& p, const Setting& setting) {
  Setting other = setting;
  Mesh mesh = p.mesh;
  std::string words;
  for (const Change& change : changes) {
    change.training(other.training);
    if (change.mesh) mesh = *change.mesh;
    words += (words.empty() ? "" : " ") + change.words;
  }
  const Projection found = Planner(other).project(*p.strategy, mesh, p.batch);
  if (!found.feasible()) return {};
  return Remedy{words, fmt::format("{} {}", p.strategy->text, grid_text(p.mesh, true)), found};
}

/// As few blocks as can be, where all of them are more than enough.
std::optional<Remedy> fewest_blocks(const Projection& p, const Setting& setting) {
  int enough = int(recomputable_blocks(setting.work).size()), too_few = 0;
  std::optional<Remedy> best;
  while (enough - too_few > 1) {
    const int blocks = (enough + too_few) / 2;
    const Change change{fmt::format("--recompute full:{}", blocks), [blocks](Training& t) {
                          t.recompute = Recompute::full, t.recomputed_blocks = blocks;
                        }};
    if (auto found = mended({change}, p, setting))
      best = std::move(found), enough = blocks;
    else
      too_few = blocks;
  }
  return best;
}

enum class Attempt { one_change, two_changes, all_changes, more_gpus };
constexpr std::array attempts{Attempt::one_change, Attempt::two_changes, Attempt::all_changes,
                              Attempt::more_gpus};

/// Two words of one option contradict each other.
bool same_option(const Change& a, const Change& b) {
  return a.words.substr(0, a.words.find(' ')) == b.words.substr(0, b.words.find(' '));
}

std::vector<Changes> choices(Attempt attempt, const Projection& p, const Setting& setting) {
  const Changes changes = attempt == Attempt::more_gpus ? more_gpus(p, setting) : same_gpus(p, setting);
  std::vector<Changes> out;
  switch (attempt) {
    case Attempt::one_change:
    case Attempt::more_gpus:
      for (const Change& change : changes) out.push_back({change});
      break;
    case Attempt::two_changes:
      for (std::size_t i = 0; i < changes.size(); ++i)
        for (std::size_t k = i + 1; k < changes.size(); ++k)
          if (!same_option(changes[i], changes[k])) out.push_back({changes[i], changes[k]});
      break;
    case Attempt::all_changes: {  // of each option the last word, which saves most
      Changes all;
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (i + 1 == changes.size() || !same_option(changes[i], changes[i + 1])) all.push_back(changes[i]);
      if (all.size() > 2) out.push_back(std::move(all));
    }
  }
  return out;
}

}  // namespace

std::vector<Remedy> ways_to_fit(const Projection& p, const Setting& setting) {
  return ways_to_fit(std::span(&p, 1), setting);
}

std::vector<Remedy> ways_to_fit(std::span<const Projection> projections, const Setting& setting) {
  constexpr std::size_t few = 4;  // of those that come nearest
  std::vector<const Projection*> near;
  for (const Projection& p : projections)
    if (only_memory_fails(p) && !p.feasible() && !setting.training.gamma) near.push_back(&p);
  std::ranges::stable_sort(near, {}, [](const Projection* p) { return p->cost->memory.total(); });
  if (near.size() > few) near.resize(few);
  std::vector<Remedy> out;
  for (const Attempt attempt : attempts) {
    for (const Projection* p : near)
      for (const Changes& changes : choices(attempt, *p, setting)) {
        auto found = mended(changes, *p, setting);
        if (!found) continue;
        if (found->change == "--recompute full" && setting.training.recompute == Recompute::none)
          if (auto fewer = fewest_blocks(*p, setting)) out.push_back(*std::move(fewer));
        out.push_back(*std::move(found));
      }
    if (!out.empty()) break;
  }
  std::ranges::stable_sort(out, {}, [](const Remedy& r) { return r.projection.iteration(); });
  return out;
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
