#pragma once
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "paradl/cost/layouts.hpp"
#include "paradl/cost/price.hpp"
#include "paradl/cost/price_out_of_core.hpp"
#include "paradl/cost/projection.hpp"

namespace paradl {

/// Projects strategies on grids. It keeps what many grids share (roles, layouts, stages), so that a grid
/// costs microseconds. One per thread.
class Planner {
 public:
  explicit Planner(const Setting& setting) : Planner(setting, std::make_shared<Layouts>(setting.work)) {}
  /// `layouts`: of the same network, perhaps of another planner.
  Planner(const Setting& setting, std::shared_ptr<Layouts> layouts);

  /// One strategy on one grid.
  Projection project(const StrategyName& strategy, const Mesh& mesh, double batch);

  /// The layout of a mesh without axes of one PE (see without_ones).
  const Layout& layout(const Mesh& mesh) { return layouts_->of(mesh, setting_.training.placing()); }
  /// How its layers are cut into stages, by what they cost in the last projection: that of this mesh.
  const StagePlan& stages(const Layout& layout, const Mesh& mesh);
  /// How the network is cut into blocks out of core.
  const std::vector<BlockChain>& chains(const Layout& layout);
  /// The executed schedule of a pipeline, before gradients are summed.
  struct Timeline {
    Pipeline pipeline;
    std::vector<std::vector<PipelineClock::Event>> passes;  // of each stage
  };
  Timeline timeline(const StrategyName& strategy, const Mesh& mesh, double batch);
  /// Of the last projection.
  const Pricer& pricer() const { return pricer_; }
  /// Of the last projection that was out of core.
  OutOfCorePricer& out_of_core() { return out_of_core_; }
  const Setting& setting() const { return setting_; }

 private:
  /// Computation of a mini-batch on one GPU that has all the memory it needs, as many samples at a time as
  /// one replica of the network has.
  Seconds serial(double batch, double replicas);
  /// Of several ways to cut a network into stages, the fastest of those that fit the device; or of all.
  StagePlan fastest(std::vector<StagePlan> plans, const Layout& layout, double batch);
  void leave_core(Projection& projection, const Layout& layout, const Mesh& split);

  Setting setting_;
  Pricer pricer_;
  OutOfCorePricer out_of_core_;
  struct Alone {
    Seconds passes, update;
  };
  std::map<double, Alone> alone_;  // by samples
  std::shared_ptr<Layouts> layouts_;
  /// What stages depend on: what layers cost on them, and a byte from stage to stage.
  struct StageKey {
    const Layout* layout = nullptr;
    int stages = 1;
    std::size_t costs = 0;
    double per_byte = 0;
    friend auto operator<=>(const StageKey&, const StageKey&) = default;
  };
  std::map<StageKey, std::unique_ptr<StagePlan>> stages_;
  std::map<const Layout*, std::vector<BlockChain>> chains_;
};

}  // namespace paradl
