#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/query/case.hpp"

namespace paradl {

/// Answers a question about a case: turns it into plans and projects them. Copies are cheap: they share
/// all data.
class Oracle {
 public:
  Oracle(std::shared_ptr<const Case> about, Question question);
  Oracle(Case about, Question question);
  /// Another question about the same case, which reuses what was computed.
  Oracle asked(Question question) const;

  const Case& about() const { return *engine_->about; }
  const Question& question() const { return *question_; }
  Setting setting() const { return evaluator().setting(); }
  /// Prices plans. With --fidelity paper it gives only layouts.
  const Evaluator& evaluator() const { return engine_->evaluator; }

  /// The projection of one plan.
  Projection project(const Plan& plan) const;
  /// The answers to the question, for each number of GPUs and each strategy: of all its grids, or of the best
  /// one, which is the fastest that fits, else the one nearest to fitting.
  std::vector<Projection> sweep() const;
  /// The same for all grids, without the times next to other jobs.
  std::vector<Projection> every_grid() const;
  /// The answers, best first. If the user named no strategies and training out of core is fastest, that plan
  /// comes first.
  std::vector<Projection> ranked() const;

 private:
  struct Engine {
    explicit Engine(std::shared_ptr<const Case> of);
    std::shared_ptr<const Case> about;
    Evaluator evaluator;
    std::vector<std::unique_ptr<Evaluator>> slowed;  // by other jobs: low, typical, high; or none
  };

  Oracle(std::shared_ptr<Engine> engine, Question question);
  Projection project(const Evaluator& by, const Plan& plan) const;
  std::vector<Projection> sweep(Grids grids) const;
  /// The case's options on each grid of a strategy: here a question becomes plans.
  std::vector<Plan> plans_of(const StrategyName& strategy, int gpus) const;
  /// The best plan; of equal ones, the first. Plans whose lower bound is slower than the best so far are
  /// skipped.
  Projection best_of(const std::vector<Plan>& plans) const;
  /// Whether a lower bound shows that the iteration takes longer than `most`; see Evaluator::at_least.
  bool exceeds(Seconds most, const Plan& plan) const;
  /// The best of the question's strategies out of core, if it is faster than `in_core`, the best answer, or
  /// if that does not fit. Nothing if the system file does not describe its hosts.
  std::optional<Projection> best_out_of_core(const Projection& in_core) const;
  /// Adds the times next to other jobs.
  void add_band(Projection& projection) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Question> question_;
};

/// `load`, then `question_of`, then an oracle of both.
Oracle ask(const Query& query, Library& library);
Oracle ask(const Query& query, const Catalog& catalog);

}  // namespace paradl
