#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/question.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Who can make a change: the user, the framework's developers, or the operators of the system.
enum class Owner { user, framework, system };
inline constexpr std::array<std::string_view, 3> owner_names{"user", "framework", "system"};
static_assert(names_every(Owner::system, owner_names), "name every Owner");

class Evaluator;
struct Change;  // changes.hpp
enum class ChangeKind;

/// One value of a change: its description, the option that makes it, and what it does to a plan or its case.
struct Alternative {
  std::string text;    // "sharded weight update"
  std::string option;  // "--zero 1", "--set levels.rack.ports=4"; with equal options, changes are the same
  const Change* of = nullptr;
  Owner owner = Owner::user;
  /// Changes the plan's options; empty: it does not. Likewise the members below.
  std::function<void(Plan&)> plan = {};
  std::optional<Mesh> mesh = {};
  std::optional<bool> out_of_core = {};
  std::function<void(Training&)> training = {};
  std::shared_ptr<const LayerTimes> times = {};
  std::vector<Override> system = {};

  /// Changes options and mesh of a plan.
  void apply(Plan& to) const;
  /// Whether it changes more than the plan.
  bool changes_case() const { return training || times || !system.empty(); }
};

/// A value of the system file.
Alternative system_change(std::string text, Override change);

/// The machine with further values of its file changed; empty if the file is not known.
using MachineWith = std::function<Machine(const std::vector<Override>&)>;

/// A change and its effect.
struct PricedAlternative {
  Alternative change;
  double gain;  // of the epoch: 0.18 is 18 % less time; below 0 it takes more
  Seconds epoch;
  Bytes memory;  // with the change
};

/// The changes that are possible and fit the machine, largest gain first. `evaluator`: the one that made the
/// projection.
std::vector<PricedAlternative> price(const std::vector<Alternative>& changes, const Evaluator& evaluator,
                                     const MachineWith& machine_with, const Projection& projection);

/// "+18 %", "-3 %": the share of the epoch that a change saves; below 0: it costs time.
std::string gain_text(double gain);

/// The options that fix the plan if the question leaves strategy, grid or the spatial split open:
/// " -s data+spatial --grid data=16,spatial=4x1". `dims`: number of extents of a sample.
std::string same_plan(const Question& asked, const Plan& plan, int dims);

}  // namespace paradl
