#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/strategy/strategy.hpp"

namespace paradl {

/// All strategies that can be an axis, in report order.
std::span<const Strategy* const> strategies();
const Strategy* find_strategy(std::string_view name);  // nullptr if there is none
/// The first axis of hybrids that are tried by default, or proposed.
const Strategy& outer_strategy();

inline constexpr std::string_view serial_name = "serial";  // of the strategy without axes
/// Whether a word is meant as a strategy: its first axis has the name of one.
bool names_strategy(std::string_view word);

/// A strategy as typed: the axes of `data+filter`, outermost first; no axes for `serial`. `data/ooc` trains
/// out of core: what does not fit on the device is swapped to the host, or recomputed.
struct StrategyName {
  std::string text;
  std::vector<const Strategy*> axes;
  bool out_of_core = false;
  friend bool operator==(const StrategyName&, const StrategyName&) = default;
};

inline constexpr std::string_view out_of_core_suffix = "/ooc";

/// The same strategy, out of core.
StrategyName out_of_core(const StrategyName& strategy);
/// Its name in core.
std::string in_core(const StrategyName& strategy);

/// `data+filter` from its axes, outermost first.
StrategyName hybrid(std::vector<const Strategy*> axes);

/// Reads `data+filter`, `data/ooc`. UsageError for unknown or repeated axes.
StrategyName read_strategy(std::string_view text);

/// The strategies that `project` and `advise` try if the user names none.
std::vector<StrategyName> default_strategies();

/// Reads the sizes of a strategy's axes: `data=16,filter=4`, `16x4`, `spatial=2x2`. If a spatial axis is
/// given as one number, only `total` is set and the cut is chosen later (cut {1,1,1}). UsageError if the grid
/// does not fit the strategy.
std::vector<Parts> read_grid(std::string_view text, const StrategyName& strategy);

/// "data=16,filter=4" as the user would write it; "16x4" if `short_form`.
std::string grid_text(const Mesh& mesh, bool short_form);

/// A grid with its cuts of space written out, as parts of at least `extents` extents: "data=16,spatial=4x1",
/// or "data=16,spatial=4" with one.
std::string exact_grid(const Mesh& mesh, int extents);

}  // namespace paradl
