#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "paradl/strategy/place.hpp"

namespace paradl {

/// Where the layers of one network lie, found once for each set of roles and rules: planners whose settings
/// differ in other ways can share it. One per thread.
class Layouts {
 public:
  explicit Layouts(const Workload& work) : work_(work) {}

  /// Of a mesh without axes of one PE (see without_ones).
  const Layout& of(const Mesh& mesh, const PlacingRules& rules);
  /// The bound that the network sets to the parts of an axis; those that samples set are not known here.
  const Limit& limit(const Axis& axis) { return facts(axis).limit; }
  /// Where the blocks begin that the network repeats, and where the last one ends.
  const std::vector<int>& blocks();

 private:
  struct AxisFacts {
    int signature;  // equal numbers mean equal roles
    Limit limit;
  };
  const AxisFacts& facts(const Axis& axis);

  const Workload& work_;
  std::map<std::pair<const Strategy*, std::array<int, 4>>, AxisFacts> facts_;
  std::map<std::pair<const Strategy*, std::vector<Role>>, int> signatures_;
  std::map<std::pair<std::array<int, most_axes>, PlacingRules>, std::unique_ptr<Layout>> layouts_;
  std::optional<std::vector<int>> blocks_;
};

}  // namespace paradl
