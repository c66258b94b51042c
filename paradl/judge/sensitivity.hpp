#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/projection.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {

/// The best plan on a changed machine.
struct BestPlan {
  std::string option;  // that reproduces it: "--set levels.rack.bandwidth=x2"
  bool fits = false;   // otherwise there is no plan, and the rest is unset
  std::string strategy = {}, grid = {};
  Mesh mesh = {};  // the grid, axis by axis
  Seconds epoch = {};
  double gain = 0;  // of the epoch; below 0: slower
};

/// A lever at half and at twice its value.
struct Swing {
  Lever lever;
  std::optional<BestPlan> half, twice;  // nothing: no such machine is possible
  double size = 0;                      // from the slowest to the fastest, as a share of the current epoch
};

/// The best projection on a changed machine; nothing if none fits. UsageError if no such machine is possible.
using BestOn = std::function<std::optional<Projection>(const Override&)>;

/// The effect of half and twice of each lever, with the best plan for each; largest effect first.
std::vector<Swing> sensitivity(const Levers& levers, const Projection& now, const BestOn& best_on);

}  // namespace paradl
