#include "paradl/query/oracle.hpp"

#include <algorithm>
#include <limits>

#include "paradl/cost/sweep.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {

Oracle::Slowed::Slowed(const Case& about, double factor)
    : machine(congested(about.machine, factor)),
      topology(topology_of(machine)),
      evaluator(std::make_unique<Evaluator>(
          Setting{about.work, machine, about.times, about.training, topology.get()})) {}

Oracle::Engine::Engine(std::shared_ptr<const Case> of) : about(std::move(of)), evaluator(about->setting()) {
  if (const auto& congestion = about->machine.congestion)
    for (const double factor : {congestion->low, congestion->typical, congestion->high})
      slowed.push_back(std::make_unique<Slowed>(*about, factor));
}

Oracle::Oracle(std::shared_ptr<Engine> engine, Question question) : engine_(std::move(engine)) {
  auto tried =
      std::make_shared<Tried>(Tried{.question = std::move(question), .all_grids = {}, .out_of_core = {}});
  tried->all_grids = tried->question;
  tried->all_grids.grids = Grids::all;
  for (const StrategyName& strategy : tried->question.strategies)
    tried->out_of_core.push_back(out_of_core(strategy));
  tried_ = std::move(tried);
}

Oracle::Oracle(std::shared_ptr<const Case> about, Question question)
    : Oracle(std::make_shared<Engine>(std::move(about)), std::move(question)) {}

Oracle::Oracle(Case about, Question question)
    : Oracle(std::make_shared<const Case>(std::move(about)), std::move(question)) {}

Oracle Oracle::asked(Question question) const { return {engine_, std::move(question)}; }

Projection Oracle::project(const StrategyName& strategy, const Mesh& mesh, double batch) const {
  const Plan plan = about().plan.on(strategy, mesh, batch);
  return about().fidelity == Fidelity::paper ? paper::project(setting(), strategy, plan)
                                             : evaluator().project(strategy, plan);
}

Seconds Oracle::at_least(const StrategyName& strategy, const Mesh& mesh, double batch) const {
  if (about().fidelity == Fidelity::paper) return {};
  return evaluator().at_least(about().plan.on(strategy, mesh, batch));
}

std::vector<Projection> Oracle::answers(const Question& question) const {
  return paradl::sweep(
      question, about().work, about().machine,
      [this](const StrategyName& s, const Mesh& m, double batch) { return project(s, m, batch); },
      [this](const StrategyName& s, const Mesh& m, double batch) { return at_least(s, m, batch); });
}

std::vector<Projection> Oracle::sweep() const {
  auto results = answers(tried_->question);
  for (Projection& p : results) add_band(p);
  return results;
}

std::vector<Projection> Oracle::every_grid() const { return answers(tried_->all_grids); }

std::vector<Projection> Oracle::ranked() const {
  std::vector<Projection> results = sweep();
  std::ranges::stable_sort(results, better);
  if (!question().named)
    if (auto beyond = best_out_of_core()) results.insert(results.begin(), *std::move(beyond));
  return results;
}

std::optional<Projection> Oracle::best_out_of_core() const {
  if (about().fidelity == Fidelity::paper || about().training.gamma || !knows_host(about().machine))
    return {};
  std::optional<Projection> best;
  double fastest = std::numeric_limits<double>::infinity();  // seconds per sample, of all that fit
  const auto faster = [&](const Projection& p) {
    const double time = p.iteration().base() / p.plan.batch;
    if (time >= fastest) return false;
    fastest = time;
    return true;
  };
  paradl::sweep(question(), about().work, about().machine,
                [&](const StrategyName& strategy, const Mesh& mesh, double batch) {
                  const Projection p = project(strategy, mesh, batch);
                  // Out of core is never faster: do not plan what is already too slow in core.
                  if (!p.cost || p.iteration().base() / p.plan.batch >= fastest) return p;
                  if (p.feasible()) {
                    if (faster(p)) best.reset();
                  } else if (!strategy.out_of_core) {
                    const auto& beyond_core = *std::ranges::find(
                        tried_->out_of_core, out_of_core(strategy).text, &StrategyName::text);
                    const Projection beyond = project(beyond_core, mesh, batch);
                    if (beyond.feasible() && faster(beyond)) best = beyond;
                  }
                  return p;
                },
                [this](const StrategyName& s, const Mesh& m, double batch) { return at_least(s, m, batch); });
  if (best) add_band(*best);
  return best;
}

void Oracle::add_band(Projection& p) const {
  if (engine_->slowed.empty() || !p.cost) return;
  const auto iteration = [&](const Slowed& other) {
    const Setting there{about().work, other.machine, about().times, about().training, other.topology.get()};
    return (about().fidelity == Fidelity::paper ? paper::project(there, *p.strategy, p.plan)
                                                : other.evaluator->project(*p.strategy, p.plan))
        .iteration();
  };
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
