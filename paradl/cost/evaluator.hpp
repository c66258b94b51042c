#pragma once
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "paradl/cost/layouts.hpp"
#include "paradl/cost/ledger.hpp"
#include "paradl/cost/price.hpp"
#include "paradl/cost/price_out_of_core.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/cost/timeline.hpp"

namespace paradl {

class Evaluator;

/// A plan with its cost and all tables behind it, for explanations. The evaluator must outlive it.
struct Evaluation {
  /// `cut`: stages to use instead of the best ones.
  Evaluation(const Evaluator& evaluator, const Plan& plan, const StagePlan* cut = nullptr,
             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  Plan plan;  // its mesh without axes of one GPU
  const Links* links;
  const Layout* layout;
  MeshTable mesh;
  GradientTable gradients;
  PassTable passes;
  const StagePlan* stages;
  StageTable sums;
  ScheduleTable schedule;
  Cost cost;
  std::shared_ptr<const PricedOutOfCore> out_of_core = {};  // if the plan is out of core

  Tables tables() const { return {*links, *layout, *stages, mesh, gradients, passes, sums, schedule}; }
};

/// Prices plans of one case. Pure: the same plan gives the same cost whatever was asked before, and threads
/// may share one evaluator. It only caches results of pure functions that many plans have in common: layouts,
/// routes, kernel times, cuts into stages.
class Evaluator {
 public:
  explicit Evaluator(const Setting& setting)
      : Evaluator(setting, std::make_shared<Layouts>(setting.shared_work())) {}
  /// `layouts` must be those of the same network; another evaluator may share them.
  Evaluator(const Setting& setting, std::shared_ptr<const Layouts> layouts);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// The cost of one iteration. The plan must keep its limits: limits(plan).hold(). `cut`: stages to use
  /// instead of the best ones, for example those of another plan.
  Cost cost(const Plan& plan, const StagePlan* cut = nullptr) const;
  /// The cost with all tables behind it.
  Evaluation evaluate(const Plan& plan) const { return Evaluation(*this, plan); }
  /// The cost charge by charge.
  Ledger ledger(const Plan& plan) const { return ledger_of(evaluate(plan)); }
  /// A lower bound for the iteration of a pipeline, found without cutting it into stages; zero for other
  /// plans, and for plans that break a limit. A bound above `enough` need not be the best one: it is found
  /// sooner.
  Seconds at_least(const Plan& plan, Seconds enough) const;
  /// The limits that are known before a plan is priced; `refused` gets the reason if its allreduce cannot sum
  /// the gradients. In limits.cpp.
  Limits limits(const Plan& plan, std::string* refused = nullptr) const;
  /// These limits in parts, so that a search checks each only when what it depends on changes. Depends on the
  /// mesh and the mini-batch:
  void add_axis_limits(const Plan& plan, Limits& out) const;
  /// Also on micro-batches and schedule:
  void add_pipeline_limits(const Plan& plan, Limits& out) const;
  /// On the mesh, the allreduce, and how tensors are placed. Call it only if the limits of the axes hold:
  void add_layout_limits(const Plan& plan, Limits& out, std::string* refused = nullptr) const;
  /// Cost, limits and everything else that an answer shows. In project.cpp.
  Projection project(const Plan& plan, const StagePlan* cut = nullptr) const;
  Timeline timeline(const Plan& plan) const;

  /// The layout of a plan whose mesh has no axes of one GPU (see without_ones).
  const Layout& layout(const Plan& plan) const;
  /// Whether a cut into so many pieces depends on costs: then plans that differ only in ZeRO may be cut
  /// differently.
  bool balances_stages(int pieces) const;
  /// How a plan's layers are cut into stages.
  const StagePlan& stages(const Layout& layout, const MeshTable& mesh, const GradientTable& gradients,
                          const PassTable& passes, const Plan& plan) const;
  /// What the plan costs out of core, given its tables and its cost in core.
  std::shared_ptr<const PricedOutOfCore> beyond_core(const Evaluation& evaluation) const;
  /// The computation of one iteration with another mini-batch, in core, on the same mesh and stages.
  Seconds computation(const Evaluation& evaluation, double batch) const;
  /// The memory of a stage that has only one layer of this cell.
  Bytes memory_of_layer(const Evaluation& evaluation, int cell) const;
  const Setting& setting() const { return setting_; }
  const Links& links() const { return links_; }
  const LocalTimes& times() const { return times_; }
  std::shared_ptr<const Layouts> layouts() const { return layouts_; }

 private:
  /// The computation of a mini-batch on one GPU with unlimited memory. It takes as many samples at a time as
  /// one replica of the network does.
  Seconds serial(const Plan& plan, double replicas) const;
  std::vector<StagePlan> find_cuts(const Layout& layout, const MeshTable& mesh, const PassTable& passes,
                                   const Plan& plan, int stages, SecondsPerByte per_byte) const;
  StagePlan cut(const Layout& layout, const MeshTable& mesh, const GradientTable& gradients,
                const PassTable& passes, const Plan& plan, int stages, SecondsPerByte per_byte) const;

  Setting setting_;
  Links links_;
  LocalTimes times_;
  std::shared_ptr<const Layouts> layouts_;
  struct Alone {
    Seconds passes, update;
  };
  Memo<Plan, Alone, PlanHash> alone_;
  Memo<LocalTimes::Shapes, Seconds> computations_;  // of one micro-batch on a single stage
  /// Cuts that depend on no costs.
  struct EvenKey {
    const Layout* layout;
    int stages, chunks;
    friend bool operator==(const EvenKey&, const EvenKey&) = default;
  };
  Memo<EvenKey, std::unique_ptr<StagePlan>> even_stages_;
  Memo<Plan, std::unique_ptr<StagePlan>, PlanHash> balanced_stages_;
  /// What the candidates for a cut depend on: the costs of layers, and of a byte from stage to stage.
  struct CutKey {
    const Layout* layout;
    std::size_t costs;
    double per_byte;
    Pipeline pipeline;
    friend bool operator==(const CutKey&, const CutKey&) = default;
  };
  static_assert(std::has_unique_object_representations_v<Pipeline>, "BytesHash allows no padding");
  Memo<CutKey, std::vector<StagePlan>> cuts_;
  Memo<const Layout*, std::vector<BlockChain>> chains_;
};

}  // namespace paradl
