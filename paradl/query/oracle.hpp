#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/query/case.hpp"

namespace paradl {

/// Answers a question about a case. A copy shares everything with the original. Projections refer to
/// strategies of the oracle, so one copy must outlive them.
class Oracle {
 public:
  Oracle(std::shared_ptr<const Case> about, Question question);
  Oracle(Case about, Question question);
  /// Another question about the same case, which reuses what was computed.
  Oracle asked(Question question) const;

  const Case& about() const { return *engine_->about; }
  const Question& question() const { return tried_->question; }
  Setting setting() const { return about().setting(); }
  /// Prices plans. With --fidelity paper it gives only layouts.
  const Evaluator& evaluator() const { return engine_->evaluator; }

  Projection project(const StrategyName& strategy, const Mesh& mesh, double batch) const;
  /// The answers to the question.
  std::vector<Projection> sweep() const;
  /// The answers for all grids of each strategy.
  std::vector<Projection> every_grid() const;
  /// The answers, best first. If the user named no strategies and out-of-core training is the best, it is
  /// added.
  std::vector<Projection> ranked() const;

 private:
  /// The machine slowed down by other jobs, with its topology and evaluator.
  struct Slowed {
    Slowed(const Case& about, double factor);
    Machine machine;
    std::unique_ptr<const Topology> topology;
    std::unique_ptr<Evaluator> evaluator;
  };
  struct Engine {
    explicit Engine(std::shared_ptr<const Case> of);
    std::shared_ptr<const Case> about;
    Evaluator evaluator;
    std::vector<std::unique_ptr<Slowed>> slowed;  // low, typical, high; or none
  };
  /// Projections point to these strategies.
  struct Tried {
    Question question;
    Question all_grids;                     // the same question about every grid
    std::vector<StrategyName> out_of_core;  // the question's strategies, out of core
  };

  Oracle(std::shared_ptr<Engine> engine, Question question);
  std::vector<Projection> answers(const Question& question) const;
  /// A lower bound for the iteration of a projection; see Evaluator::at_least.
  Seconds at_least(const StrategyName& strategy, const Mesh& mesh, double batch) const;
  /// The best of the question's strategies out of core, if it is faster than all that fit in core. Nothing if
  /// the system file does not describe its hosts.
  std::optional<Projection> best_out_of_core() const;
  /// Adds the times next to other jobs.
  void add_band(Projection& projection) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Tried> tried_;
};

/// Loads what a query refers to, and turns the query into a question.
Oracle ask(const Query& query, Library& library);
Oracle ask(const Query& query, const Catalog& catalog);

}  // namespace paradl
