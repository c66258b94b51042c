#pragma once
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "paradl/cost/price.hpp"
#include "paradl/cost/projection.hpp"

namespace paradl {

/// Projects strategies on grids. It keeps what many grids share (roles, layouts, stages), so that a grid
/// costs microseconds. One per thread.
class Planner {
 public:
  explicit Planner(const Setting& setting);

  /// One strategy on one grid.
  Projection project(const StrategyName& strategy, const Mesh& mesh, double batch);

  /// The layout of a mesh without axes of one PE (see without_ones).
  const Layout& layout(const Mesh& mesh);
  const StagePlan& stages(const Layout& layout, const Mesh& mesh);
  /// Of the last projection.
  const Pricer& pricer() const { return pricer_; }
  const Setting& setting() const { return setting_; }

 private:
  struct AxisFacts {
    int signature;  // equal numbers mean equal roles
    Limit limit;
  };
  const AxisFacts& facts(const Axis& axis);

  Setting setting_;
  Pricer pricer_;
  Seconds serial_, serial_update_;  // one epoch in one iteration, and the update in it
  std::map<std::pair<const Strategy*, std::array<int, 4>>, AxisFacts> facts_;
  std::map<std::pair<const Strategy*, std::vector<Role>>, int> signatures_;
  std::map<std::array<int, most_axes>, std::unique_ptr<Layout>> layouts_;
  std::map<std::pair<const Layout*, int>, std::unique_ptr<StagePlan>> stages_;
};

}  // namespace paradl
