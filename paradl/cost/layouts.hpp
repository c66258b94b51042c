#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "paradl/core/memo.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// How the layers of one network are placed, found once for each set of roles and rules. Evaluators of the same
/// network may share it, and so may threads.
class Layouts {
 public:
  explicit Layouts(const Workload& work) : work_(work) {}

  /// Of a mesh without axes of one GPU (see without_ones).
  const Layout& of(const Mesh& mesh, const PlacingRules& rules) const;
  /// The bound that the network sets to the parts of an axis; those that samples set are not known here.
  const Limit& limit(const Axis& axis) const { return facts(axis).limit; }
  /// Where the blocks begin that the network repeats, and where the last one ends.
  const std::vector<int>& blocks() const;

 private:
  struct AxisFacts {
    int signature;  // equal numbers mean equal roles
    Limit limit;
  };
  const AxisFacts& facts(const Axis& axis) const;
  int signature_of(const Axis& axis) const;

  struct AxisKey {
    const Strategy* strategy;
    std::array<int, 4> parts;
    friend bool operator==(const AxisKey&, const AxisKey&) = default;
  };
  const Workload& work_;
  Memo<AxisKey, AxisFacts> facts_;
  Memo<std::array<int, most_axes + 6>, std::unique_ptr<Layout>> layouts_;  // by signatures and rules
  mutable std::mutex signatures_mutex_;
  mutable std::map<std::pair<const Strategy*, std::vector<Role>>, int> signatures_;
  mutable std::once_flag blocks_found_;
  mutable std::vector<int> blocks_;
};

}  // namespace paradl
