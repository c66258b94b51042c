#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/sweep.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// Whose decision a change is: who trains, who writes the framework, who builds the machine.
enum class Hands { user, framework, system };
inline constexpr std::array<std::string_view, 3> hands_names{"user", "framework", "system"};
static_assert(names_every(Hands::system, hands_names), "name every pair of Hands");

/// One thing that can be done otherwise: as it is told, as it is typed, and as it is priced.
struct Alternative {
  std::string text;    // "sharded weight update"
  std::string option;  // "--zero 1", "--set levels.rack.ports=4"
  Hands hands = Hands::user;
  std::function<void(Training&)> training = {};
  std::shared_ptr<const LayerTimes> times = {};  // none: the same
  std::vector<Override> system = {};
  std::shared_ptr<const StrategyName> strategy = {};  // none: the same
  std::optional<Mesh> mesh = {};                      // none: the same
  double batch = 0;                                   // 0: the same
};

/// A machine with more values of its file changed; empty where nobody can tell.
using MachineWith = std::function<Machine(const std::vector<Override>&)>;

/// The same projection with something changed, asked of the same oracle.
Projection ask_again(const Setting& setting, const MachineWith& machine_with, const Projection& projection,
                     const Alternative& change);

/// A change and what it brings.
struct PricedAlternative {
  Alternative change;
  double gain;  // of the epoch: 0.18 is 18 % less time; below 0 it takes more
  Seconds epoch;
  Bytes memory;  // with the change
};

/// The changes that can be made and fit the machine, the largest gain first.
std::vector<PricedAlternative> price(const std::vector<Alternative>& changes, const Setting& setting,
                                     const MachineWith& machine_with, const Projection& projection);

/// Whether sequence parallelism can be asked for, and is not there yet.
bool can_split_sequence(const Setting& setting, const Mesh& mesh);

/// "-18 %", "+3 %".
std::string gain_text(double gain);

/// What has to be typed with a change to get the plan that was priced, where strategy, grid or the cut of
/// space would else be chosen anew: " -s data+spatial --grid data=16,spatial=4x1". `dims`: extents of a
/// sample.
std::string same_plan(const Question& asked, const StrategyName& strategy, const Mesh& mesh, int dims);

/// A grid with its cut of space written out, so that none is chosen anew: "data=16,spatial=4x1".
std::string exact_grid(const Mesh& mesh, int extents);

}  // namespace paradl
