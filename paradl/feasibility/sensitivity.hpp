#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/projection.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// One thing about a machine that could be bought otherwise.
struct Lever {
  std::string name;  // "bandwidth of level rack"
  std::string path;  // in the system file: "levels.rack.bandwidth"
  bool less_is_better = false;
};

/// What a system file says that a price list has: links, ports, GPUs per node, memory, rates.
std::vector<Lever> levers(const SystemSpec& system, Precision precision);

/// The best plan on a changed machine, chosen anew.
struct BestPlan {
  std::string option;  // that reproduces it: "--set levels.rack.bandwidth=x2"
  bool fits = false;   // else there is no plan, and what follows has no meaning
  std::string strategy = {}, grid = {};
  Mesh mesh = {};  // the grid, axis by axis
  Seconds epoch = {};
  double gain = 0;  // of the epoch; below 0: slower
};

/// A lever turned both ways.
struct Swing {
  Lever lever;
  std::optional<BestPlan> half, twice;  // nothing: there is no such machine
  double size = 0;                      // from the slowest to the fastest, as a share of the epoch now
};

/// The best projection on a machine with something changed; nothing if none fits there. UsageError if there
/// is no such machine.
using BestOn = std::function<std::optional<Projection>(const std::vector<Override>&)>;

/// Half and twice of everything, the plan chosen anew each time; the largest swing first.
std::vector<Swing> sensitivity(const std::vector<Lever>& levers, const Projection& now,
                               const BestOn& best_on);

}  // namespace paradl
