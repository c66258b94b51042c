#include "paradl/query/oracle.hpp"

#include <algorithm>
#include <limits>

#include "paradl/cost/question.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

/// On the machine slowed down by other jobs.
Setting slowed_down(const Setting& setting, double factor) {
  Machine machine = congested(setting.machine, factor);
  auto topology = topology_of(machine);
  return setting.on(std::move(machine), std::move(topology));
}

}  // namespace

Oracle::Engine::Engine(std::shared_ptr<const Case> of) : about(std::move(of)), evaluator(setting_of(about)) {
  if (const auto& congestion = about->machine.congestion)
    for (const double factor : {congestion->low, congestion->typical, congestion->high})
      slowed.push_back(std::make_unique<Evaluator>(slowed_down(evaluator.setting(), factor)));
}

Oracle::Oracle(std::shared_ptr<Engine> engine, Question question)
    : engine_(std::move(engine)), question_(std::make_shared<const Question>(std::move(question))) {}

Oracle::Oracle(std::shared_ptr<const Case> about, Question question)
    : Oracle(std::make_shared<Engine>(std::move(about)), std::move(question)) {}

Oracle::Oracle(Case about, Question question)
    : Oracle(std::make_shared<const Case>(std::move(about)), std::move(question)) {}

Oracle Oracle::asked(Question question) const { return {engine_, std::move(question)}; }

Projection Oracle::project(const Evaluator& by, const Plan& plan) const {
  return about().fidelity == Fidelity::paper ? paper::project(by.setting(), plan) : by.project(plan);
}

Projection Oracle::project(const Plan& plan) const { return project(evaluator(), plan); }

bool Oracle::exceeds(Seconds most, const Plan& plan) const {
  return about().fidelity != Fidelity::paper && evaluator().at_least(plan, most) > most;
}

std::vector<Plan> Oracle::plans_of(const StrategyName& strategy, int gpus) const {
  const double batch = question().batch.batch(gpus, about().machine);
  std::vector<Plan> out;
  for (const Mesh& grid : meshes(question(), strategy, gpus, about().work.input.dims))
    out.push_back(about().plan.on(strategy, grid, batch));
  return out;
}

std::vector<Projection> Oracle::sweep(Grids which) const {
  std::vector<Projection> out;
  for (const int gpus : question().gpus)
    for (const StrategyName& strategy : question().strategies) {
      const std::vector<Plan> plans = plans_of(strategy, gpus);
      if (which == Grids::all)
        for (const Plan& plan : plans) out.push_back(project(plan));
      else if (!plans.empty())
        out.push_back(best_of(plans));
    }
  return out;
}

Projection Oracle::best_of(const std::vector<Plan>& plans) const {
  constexpr double rounding = 1 + 1e-9;
  std::optional<Projection> best;
  // The last grids, with most parts on the first axis, are mostly the fastest. Of equal ones, the first is
  // taken.
  for (std::size_t i = plans.size(); i-- > 0;) {
    if (best && best->feasible() && exceeds(rounding * best->iteration(), plans[i])) continue;
    Projection one = project(plans[i]);
    if (!best || !better(*best, one)) best = std::move(one);
  }
  return *std::move(best);
}

std::vector<Projection> Oracle::sweep() const {
  std::vector<Projection> results = sweep(question().grids);
  for (Projection& p : results) add_band(p);
  return results;
}

std::vector<Projection> Oracle::every_grid() const { return sweep(Grids::all); }

std::vector<Projection> Oracle::ranked() const {
  std::vector<Projection> results = sweep();
  rank(results);
  if (question().named || results.empty()) return results;
  if (auto beyond = best_out_of_core(results.front())) results.insert(results.begin(), *std::move(beyond));
  return results;
}

std::optional<Projection> Oracle::best_out_of_core(const Projection& in_core) const {
  if (about().fidelity == Fidelity::paper || about().training.gamma || !knows_host(about().machine))
    return {};
  const auto per_sample = [](Seconds iteration, double batch) { return iteration.base() / batch; };
  double fastest = in_core.feasible() ? per_sample(in_core.iteration(), in_core.plan.batch)
                                      : std::numeric_limits<double>::infinity();
  std::optional<Projection> best;
  for (const int gpus : question().gpus)
    for (const StrategyName& strategy : question().strategies)
      for (Plan& plan : plans_of(strategy, gpus)) {
        // Out of core is never faster: do not plan what is already too slow in core.
        if (exceeds(Seconds{fastest * plan.batch}, plan)) continue;
        const Projection p = project(plan);
        if (!p.cost || p.feasible() || per_sample(p.iteration(), plan.batch) >= fastest) continue;
        plan.out_of_core = true;
        Projection beyond = project(plan);
        if (!beyond.feasible() || per_sample(beyond.iteration(), plan.batch) >= fastest) continue;
        fastest = per_sample(beyond.iteration(), plan.batch);
        best = std::move(beyond);
      }
  if (best) add_band(*best);
  return best;
}

void Oracle::add_band(Projection& p) const {
  if (engine_->slowed.empty() || !p.cost) return;
  const auto iteration = [&](const Evaluator& other) { return project(other, p.plan).iteration(); };
  const auto& slowed = engine_->slowed;
  p.congested = {iteration(*slowed[0]), iteration(*slowed[1]), iteration(*slowed[2])};
}

Oracle ask(const Query& query, Library& library) {
  Case about = load(query, library);
  Question question = question_of(query, about);
  return {std::move(about), std::move(question)};
}

Oracle ask(const Query& query, const Catalog& catalog) {
  Library library(catalog);
  return ask(query, library);
}

}  // namespace paradl
