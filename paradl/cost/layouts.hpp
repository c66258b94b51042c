#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "paradl/core/memo.hpp"
#include "paradl/strategy/fold.hpp"

namespace paradl {

/// How the layers of one network are placed, found once for each table of roles and rules. Evaluators of the same
/// network may share it, and so may threads.
class Layouts {
 public:
  explicit Layouts(const Workload& work);

  /// Of a mesh without axes of one GPU (see without_ones).
  const Layout& of(const Mesh& mesh, const PlacingRules& rules) const;
  /// The bound that the network sets to the parts of an axis; those that samples set are not known here.
  const Limit& limit(const Axis& axis) const;
  /// Where the blocks begin that the network repeats, and where the last one ends.
  const std::vector<int>& blocks() const { return blocks_; }

 private:
  /// What an axis makes of the network, folded if it can be.
  struct AxisTable {
    AxisRoles roles;
    int signature;  // equal numbers mean that a layout cannot tell the axes apart
  };
  const AxisTable& table(const Axis& axis, const PlacingRules& rules) const;
  int signature_of(const AxisRoles& roles) const;
  Layout placed(const Mesh& mesh, const PlacingRules& rules) const;
  const Workload& shortened() const { return fold_ ? short_ : work_; }

  const Workload& work_;
  std::vector<int> blocks_;
  std::optional<Fold> fold_;
  Workload short_;  // empty without a fold
  struct AxisKey {
    const Strategy* strategy;
    std::array<int, 4> parts;
    std::array<int, 4> rules;  // those that roles depend on
    friend bool operator==(const AxisKey&, const AxisKey&) = default;
  };
  static AxisKey key_of(const Axis& axis);
  Memo<AxisKey, Limit> limits_;
  Memo<AxisKey, AxisTable> tables_;
  Memo<std::array<int, most_axes + 6>, std::unique_ptr<Layout>> layouts_;  // by signatures and rules
  mutable std::mutex signatures_mutex_;
  mutable std::map<std::vector<std::uint8_t>, int> signatures_;
};

}  // namespace paradl
