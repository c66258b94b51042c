#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/query/case.hpp"

namespace paradl {

/// Answers a question about a case. A copy shares everything with the original; projections refer to
/// strategies that one of them must keep.
class Oracle {
 public:
  Oracle(std::shared_ptr<const Case> about, Question question);
  Oracle(Case about, Question question);
  /// The same case, asked something else: what was computed of it is used again.
  Oracle asked(Question question) const;

  const Case& about() const { return *engine_->about; }
  const Question& question() const { return tried_->question; }
  Setting setting() const { return about().setting(); }
  /// Prices plans. With --fidelity paper it gives only layouts.
  const Evaluator& evaluator() const { return engine_->evaluator; }

  Projection project(const StrategyName& strategy, const Mesh& mesh, double batch) const;
  /// The answers to the question.
  std::vector<Projection> sweep() const;
  /// The same with all grids of each strategy.
  std::vector<Projection> every_grid() const;
  /// The answers, best first. Out of core is one more of them where it is the best there is and nobody named
  /// strategies.
  std::vector<Projection> ranked() const;

 private:
  /// The machine as other jobs slow it, with what is built on it.
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
    Question all_grids;                     // the same question, of every grid
    std::vector<StrategyName> out_of_core;  // its strategies
  };

  Oracle(std::shared_ptr<Engine> engine, Question question);
  std::vector<Projection> answers(const Question& question) const;
  /// The best of the question's strategies out of core, if it is faster than all that fit in core. Nothing
  /// where the system file does not say enough of its hosts.
  std::optional<Projection> best_out_of_core() const;
  /// How long it takes beside other jobs.
  void add_band(Projection& projection) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Tried> tried_;
};

/// Loads what a query refers to, and makes it a question.
Oracle ask(const Query& query, Library& library);
Oracle ask(const Query& query, const Catalog& catalog);

}  // namespace paradl
