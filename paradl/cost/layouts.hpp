#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "paradl/core/memo.hpp"
#include "paradl/core/shared.hpp"
#include "paradl/strategy/fold.hpp"

namespace paradl {

/// The layouts of one network, computed once for each table of roles and rules. Evaluators of the same
/// network may share it, and so may threads.
class Layouts {
 public:
  explicit Layouts(Shared<Workload> work);

  /// The layout on a mesh without axes of one GPU (see without_ones).
  const Layout& of(const Mesh& mesh, const PlacingRules& rules) const;
  /// The limit that the network sets to the parts of an axis. Limits by samples are not known here.
  const Limit& limit(const Axis& axis) const;
  /// The first layer of each repeated block of the network, and the end of the last one.
  const std::vector<int>& blocks() const { return blocks_; }

 private:
  /// The roles that an axis gives to the (folded) network.
  struct AxisTable {
    AxisRoles roles;
    int signature;  // axes with equal signatures give equal layouts
  };
  const AxisTable& table(const Axis& axis, const PlacingRules& rules) const;
  int signature_of(const AxisRoles& roles) const;
  Layout placed(const Mesh& mesh, const PlacingRules& rules) const;
  const Workload& shortened() const { return fold_ ? short_ : work_; }

  Shared<Workload> owner_;
  const Workload& work_ = *owner_;
  std::vector<int> blocks_;
  std::optional<Fold> fold_;
  Workload short_;  // empty without a fold
  // Keys have all rules, so that none can be forgotten. Hashes read what mostly differs.
  struct RolesKey {
    Axis axis;
    PlacingRules rules;
    friend bool operator==(const RolesKey&, const RolesKey&) = default;
  };
  struct LayoutKey {
    std::array<int, most_axes> signatures;
    PlacingRules rules;
    friend bool operator==(const LayoutKey&, const LayoutKey&) = default;
  };
  struct Hash {
    std::size_t operator()(const RolesKey& key) const;
    std::size_t operator()(const LayoutKey& key) const;
  };
  static_assert(std::has_unique_object_representations_v<Axis>, "BytesHash allows no padding");
  Memo<Axis, Limit> limits_;
  Memo<RolesKey, AxisTable, Hash> tables_;
  Memo<LayoutKey, std::unique_ptr<Layout>, Hash> layouts_;
  mutable std::mutex signatures_mutex_;
  mutable std::map<std::vector<std::uint8_t>, int> signatures_;
};

}  // namespace paradl
