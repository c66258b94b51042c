#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/sweep.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Who can make a change: the user, the framework's developers, or the operators of the system.
enum class Owner { user, framework, system };
inline constexpr std::array<std::string_view, 3> owner_names{"user", "framework", "system"};
static_assert(names_every(Owner::system, owner_names), "name every Owner");

struct Change;  // changes.hpp

/// One value of a change: its description, the option that makes it, and what it does to a plan.
struct Alternative {
  std::string text;    // "sharded weight update"
  std::string option;  // "--zero 1", "--set levels.rack.ports=4"
  const Change* of = nullptr;
  Owner owner = Owner::user;
  std::function<void(Training&)> training = {};
  std::shared_ptr<const LayerTimes> times = {};  // null: unchanged
  std::vector<Override> system = {};
  std::shared_ptr<const StrategyName> strategy = {};  // null: unchanged
  std::optional<Mesh> mesh = {};                      // nothing: unchanged
  double batch = 0;                                   // 0: unchanged
};

/// A value of the system file.
Alternative system_change(std::string text, std::string path, std::string value);

/// The machine with further values of its file changed; empty if the file is not known.
using MachineWith = std::function<Machine(const std::vector<Override>&)>;

/// The same projection with a change.
Projection ask_again(const Setting& setting, const MachineWith& machine_with, const Projection& projection,
                     const Alternative& change);

/// A change and its effect.
struct PricedAlternative {
  Alternative change;
  double gain;  // of the epoch: 0.18 is 18 % less time; below 0 it takes more
  Seconds epoch;
  Bytes memory;  // with the change
};

/// The changes that are possible and fit the machine, largest gain first.
std::vector<PricedAlternative> price(const std::vector<Alternative>& changes, const Setting& setting,
                                     const MachineWith& machine_with, const Projection& projection);

/// "-18 %", "+3 %".
std::string gain_text(double gain);

/// The options that fix the plan if the question leaves strategy, grid or the spatial split open:
/// " -s data+spatial --grid data=16,spatial=4x1". `dims`: number of extents of a sample.
std::string same_plan(const Question& asked, const StrategyName& strategy, const Mesh& mesh, int dims);

/// A grid with its spatial split written out: "data=16,spatial=4x1".
std::string exact_grid(const Mesh& mesh, int extents);

}  // namespace paradl
