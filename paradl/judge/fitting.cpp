#include "paradl/judge/fitting.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/judge/changes.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

/// The values of one option, smallest saving first; they exclude each other.
using Levels = Alternatives;
using Changes = Alternatives;

/// Changes that keep the number of GPUs.
std::vector<Levels> options_of(const Projection& p, const Setting& setting) {
  const Evidence evidence = evidence_of(p, setting);
  std::vector<Levels> out;
  for (const MemoryOption& option : memory_options)
    if (Levels levels = alternatives(option, evidence); !levels.empty()) out.push_back(std::move(levels));
  return out;
}

Levels more_gpus(const Projection& p, const Setting& setting) {
  return alternatives(ChangeKind::more_gpus, evidence_of(p, setting));
}

/// Whether a change recomputes blocks.
bool recomputes(const Alternative& change) { return change.of->kind == ChangeKind::full_recomputation; }

bool only_memory_fails(const Projection& p) {
  return p.cost && std::ranges::all_of(p.limits.all(), [](const Limit& limit) {
           return limit.holds() || limit.rule == LimitRule::memory;
         });
}

/// Projects plans with some changes.
class Oracle {
 public:
  /// Without a question, strategy and grid are fixed.
  Oracle(const Evaluator& evaluator, const Question* asked) : evaluator_(evaluator), asked_(asked) {}
  const Setting& setting() const { return evaluator_.setting(); }
  const Question* asked() const { return asked_; }
  int dims() const { return std::max(1, setting().work.input.dims); }

  /// Whether the question leaves the spatial split open.
  bool cut_is_open() const {
    const auto settled = [](const Parts& parts) { return parts.cut != std::array{1, 1, 1}; };
    return asked_ && !(asked_->grid && std::ranges::any_of(*asked_->grid, settled));
  }

  /// With the best spatial split, if that is open.
  Projection changed(const Changes& changes, const Projection& p) const {
    Plan plan = p.plan;
    for (const Alternative& change : changes) change.apply(plan);
    std::optional<Projection> best;
    for (const Mesh& one : every_cut(plan)) {
      plan.mesh = one;
      if (Projection found = evaluator_.project(plan); !best || better(found, *best))
        best = std::move(found);
    }
    return *best;
  }

 private:
  std::vector<Mesh> every_cut(const Plan& plan) const {
    if (!cut_is_open()) return {plan.mesh};
    std::vector<Parts> sizes;
    for (const Axis& axis : plan.mesh.all()) sizes.push_back({.total = axis.parts.total});
    return meshes(strategy_of(plan), sizes, std::clamp(dims(), 1, asked_->most_extents));
  }

  const Evaluator& evaluator_;
  const Question* asked_;
};

/// Changes that make a projection fit.
struct Way {
  const Projection* of;
  Changes changes;
  Projection found;
};

/// The further options that fix this plan.
std::string same_plan(const Way& way, const Oracle& oracle) {
  const Projection& found = way.found;
  const Question* asked = oracle.asked();
  if (found.gpus == way.of->gpus)
    return asked ? paradl::same_plan(*asked, found.plan, oracle.dims()) : "";
  const bool one_of_many = asked && asked->strategies.size() > 1;
  return (one_of_many ? " -s " + found.strategy() : "") + " --grid " +
         exact_grid(found.plan.mesh, oracle.dims());
}

Remedy remedy_of(const Way& way, const Oracle& oracle) {
  const Mesh& mesh = way.found.plan.mesh;
  std::string words, option = "-s " + way.of->strategy();
  if (mesh.axes > 0) option += " --grid " + exact_grid(mesh, oracle.dims());
  for (const Alternative& change : way.changes) {
    words += (words.empty() ? "" : " ") + change.option;
    option += " " + change.option;
  }
  const std::string change = words + same_plan(way, oracle);
  const bool same_grid = grid_text(mesh, true) == grid_text(way.of->plan.mesh, true);
  return {.words = same_grid ? words : change,
          .change = change,
          .option = option,
          .note = way.found.gpus > way.of->gpus ? "twice the GPUs" : "",
          .of = fmt::format("{} {}", way.of->strategy(), grid_text(way.of->plan.mesh, true)),
          .projection = way.found};
}

/// The time and memory of a projection, in the parts that changes affect.
struct Need {
  double states = 0, activations = 0, time = 0;
};
Need need_of(const Projection& p) {
  const Memory& m = p.cost->memory;
  const Bytes states = m.weights + m.gradients + m.optimizer + m.buffers;
  return {states.base(), (m.total() - states).base(), p.iteration().base()};
}

/// Estimates several changes together from the effect of each alone: savings add up if they concern different
/// tensors, and multiply if they are shares of the same; the lower estimate counts.
Need together(const Need& now, const std::vector<Need>& alone) {
  Need sum = now, product = now;
  for (const Need& one : alone) {
    sum.states += one.states - now.states, product.states *= one.states / now.states;
    sum.activations += one.activations - now.activations,
        product.activations *= one.activations / now.activations;
    sum.time += one.time - now.time;
  }
  return {std::min(std::max(0.0, sum.states), product.states),
          std::min(std::max(0.0, sum.activations), product.activations), sum.time};
}

/// The same with as few recomputed blocks as necessary, if not all are.
std::optional<Way> fewest_blocks(const Way& way, const Oracle& oracle) {
  const Plan& now = way.of->plan;
  int enough = int(recomputable_blocks(oracle.setting().work).size());
  int too_few = now.recompute == Recompute::full ? now.recomputed_blocks : 0;
  std::optional<Way> best;
  while (enough - too_few > 1) {
    const int blocks = (enough + too_few) / 2;
    Changes fewer = way.changes;
    for (Alternative& change : fewer)
      if (recomputes(change)) change = some_recomputation(blocks);
    if (const Projection found = oracle.changed(fewer, *way.of); found.feasible())
      best = {way.of, fewer, found}, enough = blocks;
    else
      too_few = blocks;
  }
  return best;
}

/// Whether all of `fewer` are among `changes`: then the rest is unnecessary.
bool includes(const Changes& changes, const Changes& fewer) {
  return std::ranges::all_of(fewer, [&](const Alternative& one) {
    return std::ranges::find(changes, one.option, &Alternative::option) != changes.end();
  });
}

/// Projects the combinations that are estimated to fit, fastest first, until it has found some.
class Search {
 public:
  Search(const Projection& p, const Oracle& oracle)
      : p_(p), oracle_(oracle), options_(options_of(p, oracle.setting())) {}

  /// Tries all savings together: if that does not fit, nothing does.
  bool can_fit() const {
    Changes all;
    for (const Levels& levels : options_) all.push_back(levels.back());
    return !all.empty() && oracle_.changed(all, p_).feasible();
  }

  /// Finds up to that many ways.
  std::vector<Way> run(std::size_t enough) {
    price_single_changes();
    combine(0, {}, {});
    std::ranges::stable_sort(promising_, {}, [](const Promise& promise) { return promise.time; });
    std::vector<Way> out;
    for (std::size_t i = 0; i < promising_.size() && i < most_priced && out.size() < enough; ++i) {
      const Changes& changes = promising_[i].changes;
      if (std::ranges::any_of(out, [&](const Way& fewer) { return includes(changes, fewer.changes); }))
        continue;
      if (const Projection found = oracle_.changed(changes, p_); found.feasible())
        out.push_back({&p_, changes, found});
    }
    return out;
  }

 private:
  static constexpr std::size_t most_priced = 32;

  /// Omits changes that break another limit.
  void price_single_changes() {
    for (Levels& levels : options_) {
      alone_.emplace_back();
      std::erase_if(levels, [&](const Alternative& change) {
        const Projection found = oracle_.changed({change}, p_);
        if (!only_memory_fails(found)) return true;
        alone_.back().push_back(need_of(found));
        return false;
      });
    }
  }

  void combine(std::size_t option, const Changes& changes, const std::vector<Need>& alone) {
    if (option < options_.size()) {
      combine(option + 1, changes, alone);
      for (std::size_t i = 0; i < options_[option].size(); ++i) {
        Changes more = changes;
        std::vector<Need> also = alone;
        more.push_back(options_[option][i]);
        also.push_back(alone_[option][i]);
        combine(option + 1, more, also);
      }
      return;
    }
    const Need need = together(need_of(p_), alone);
    if (!changes.empty() && need.states + need.activations <= oracle_.setting().machine.device.memory.base())
      promising_.push_back({changes, need.time});
  }

  struct Promise {
    Changes changes;
    double time;
  };
  const Projection& p_;
  const Oracle& oracle_;
  std::vector<Levels> options_;
  std::vector<std::vector<Need>> alone_;  // by option and level
  std::vector<Promise> promising_;
};

void sort(std::vector<Way>& ways) {
  std::ranges::stable_sort(ways, {}, [](const Way& way) { return way.found.iteration(); });
}

/// Adds variants of the fastest ways that recompute all blocks, with only as many blocks as necessary.
void count_blocks(std::vector<Way>& ways, const Oracle& oracle) {
  constexpr int few = 3;
  std::vector<Way> more;
  for (const Way& way : ways)
    if (std::ranges::any_of(way.changes, recomputes) && way.of->plan.recompute != Recompute::selective &&
        int(more.size()) < few)
      if (auto fewer = fewest_blocks(way, oracle)) more.push_back(*std::move(fewer));
  for (Way& way : more) ways.push_back(std::move(way));
}

/// A lower bound of the time with any change: micro-batches can remove a pipeline's bubble, others cost time.
double least_time(const Projection& p) { return (p.iteration() - (*p.cost)[Term::bubble]).base(); }

/// Whether they differ only in the spatial split.
bool same_sizes(const Projection& a, const Projection& b) {
  const auto axes = [](const Projection& p) {
    return std::span(p.plan.mesh.axis).first(std::size_t(p.plan.mesh.axes));
  };
  const auto same = [](const Axis& x, const Axis& y) {
    return x.strategy == y.strategy && x.parts.total == y.parts.total;
  };
  return a.plan.out_of_core == b.plan.out_of_core && std::ranges::equal(axes(a), axes(b), same);
}

}  // namespace

std::vector<Remedy> ways_to_fit(const Projection& p, const Evaluator& evaluator, const Question* asked) {
  return ways_to_fit(std::span(&p, 1), evaluator, asked);
}

std::vector<Remedy> ways_to_fit(std::span<const Projection> projections, const Evaluator& evaluator,
                                const Question* asked) {
  const Setting& setting = evaluator.setting();
  const Oracle oracle(evaluator, asked);
  constexpr std::size_t most_asked = 12, most_searched = 3;
  std::vector<const Projection*> candidates;
  for (const Projection& p : projections)
    if (only_memory_fails(p) && !p.feasible() && !setting.training.gamma) candidates.push_back(&p);
  std::ranges::stable_sort(candidates, {}, [](const Projection* p) { return least_time(*p); });
  if (oracle.cut_is_open()) {  // only the fastest of several spatial splits
    std::vector<const Projection*> one_each;
    for (const Projection* p : candidates)
      if (std::ranges::none_of(one_each, [&](const Projection* other) { return same_sizes(*p, *other); }))
        one_each.push_back(p);
    candidates = one_each;
  }
  const std::size_t enough = candidates.size() == 1 ? 6 : 4;
  std::vector<Way> ways;
  std::size_t searched = 0;
  for (std::size_t i = 0; i < candidates.size() && i < most_asked && searched < most_searched; ++i) {
    if (!ways.empty() && least_time(*candidates[i]) >= ways.front().found.iteration().base()) break;
    Search search(*candidates[i], oracle);
    if (candidates.size() > 1 && !search.can_fit()) continue;
    for (Way& way : search.run(enough)) ways.push_back(std::move(way));
    sort(ways);
    ++searched;
  }
  count_blocks(ways, oracle);
  if (ways.empty()) {  // those that need least, on more GPUs
    std::ranges::stable_sort(candidates, {}, [](const Projection* p) { return p->cost->memory.total(); });
    for (std::size_t i = 0; i < candidates.size() && i < most_searched; ++i)
      for (const Alternative& change : more_gpus(*candidates[i], setting))
        if (const Projection found = oracle.changed({change}, *candidates[i]); found.feasible())
          ways.push_back({candidates[i], {change}, found});
  }
  sort(ways);
  std::vector<Remedy> out;
  for (const Way& way : ways) out.push_back(remedy_of(way, oracle));
  return out;
}

std::string nothing_fits_text(const Projection& p, const Setting& setting) {
  if (p.feasible() || !only_memory_fails(p) || setting.training.gamma) return {};
  std::vector<std::string> tried;
  for (const Levels& levels : options_of(p, setting)) tried.push_back(levels.back().option);
  if (!more_gpus(p, setting).empty()) tried.emplace_back("twice the GPUs");
  return tried.empty() ? "there is nothing to change"
                       : fmt::format("nothing that was tried fits, up to {}", fmt::join(tried, ", "));
}

namespace {

std::string noted(const Remedy& remedy, const std::string& words) {
  return remedy.note + (remedy.note.empty() ? "" : ", ") + words;
}

std::string compared(const Remedy& remedy, const Projection& other) {
  return fmt::format("{}, {:.2f} times as long", text(remedy.projection.cost->memory.total()),
                     remedy.projection.iteration() / other.iteration());
}

}  // namespace

std::string text(const Remedy& remedy) {
  return fmt::format("{} fits with {}: {}, {} per iteration", remedy.of, noted(remedy, remedy.words),
                     text(remedy.projection.cost->memory.total()), text(remedy.projection.iteration()));
}

std::string text(const Remedy& remedy, const Projection& instead_of) {
  return fmt::format("{}: {}", noted(remedy, remedy.change), compared(remedy, instead_of));
}

std::string whole_text(const Remedy& remedy, const Projection& instead_of) {
  return fmt::format("{} fits with {}: {}", remedy.of, noted(remedy, remedy.words),
                     compared(remedy, instead_of));
}

}  // namespace paradl
