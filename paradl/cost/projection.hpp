#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "paradl/core/short_list.hpp"
#include "paradl/cost/cost.hpp"
#include "paradl/cost/input.hpp"
#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {

/// How the user gives a mini-batch: whole (strong scaling), or per GPU or node (weak scaling).
struct BatchRule {
  enum class Per { whole, gpu, node } per = Per::gpu;
  double value = 1;
  friend bool operator==(const BatchRule&, const BatchRule&) = default;
  double samples(double gpus, const Machine& machine) const;  // as requested: perhaps not a whole number
  double batch(double gpus, const Machine& machine) const;    // rounded up to a whole number
};

/// The limits that were checked.
class Limits {
 public:
  void add(const Limit& limit) { list_.add(limit); }
  bool hold() const;
  std::span<const Limit> all() const { return {list_.begin(), list_.end()}; }
  /// Never reached: an axis has at most two limits, of its own and of its sequence; every other rule one.
  static constexpr std::size_t most = 2 * most_axes + limit_rules.size();

 private:
  ShortList<Limit, most> list_;
};

/// The projection of a strategy on a grid. Times are those of one iteration.
struct Projection {
  Plan plan;
  double gpus = 1;
  double samples = 1;             // D: per epoch
  double iterations = 1;          // I: per epoch
  std::optional<Cost> cost;  // none if the grid breaks a limit and a cost would have no meaning
  Limits limits;
  std::optional<InputCost> input;  // if it was requested; its exposed part is in `cost`
  /// How the gradient exchange was computed, if an algorithm was requested: by routing its messages, or by
  /// its closed form if some group has too many messages.
  std::optional<NetworkFidelity> allreduce = {};
  std::string chosen;   // what `auto` chooses for the gradients: "ring, Simple"
  std::string refused;  // why the requested allreduce cannot sum them: the algorithm's own reason
  Seconds serial;       // time of the same samples on one GPU with unlimited memory
  /// The iteration next to other jobs, if the system says how they slow down its network. Never mixed with
  /// `cost`.
  struct Band {
    Seconds low, typical, high;
  };
  std::optional<Band> congested;
  /// Numbers of blocks by what happens to their activations, if training is out of core.
  struct OutOfCore {
    int kept = 0, swapped = 0, recomputed = 0;
    WeightHome weights = WeightHome::device;
    Bytes host;                 // memory used on a node's host
    std::vector<double> again;  // by cell: recomputed layers; empty if there are none, or for a pipeline
    HostDoubt doubt = {};
    int stages = 1;  // of a pipeline
    bool plans() const { return swapped + recomputed > 0 || weights != WeightHome::device; }
  };
  std::optional<OutOfCore> out_of_core = {};

  std::string strategy() const { return strategy_of(plan).text; }  // as typed: "data+filter"
  bool feasible() const { return cost && limits.hold(); }
  /// Whether `cost` has valid times. If no out-of-core plan was found, `cost` still holds the in-core times,
  /// which are not valid.
  bool timed() const { return cost && (!out_of_core || feasible()); }
  Seconds iteration() const { return cost->iteration(); }
  Seconds epoch() const { return iterations * iteration(); }
  double samples_per_s() const { return samples / epoch().base(); }
  double efficiency() const { return serial / (gpus * iteration()); }
};

/// The energy in joules of the cables between GPUs in one iteration: peak power during exchanges, including
/// hidden ones, else idle power. Nothing if no level has the power of its cables.
std::optional<double> network_joules(const Projection& projection, const Machine& machine);

/// D/B, rounded up if the training says so.
double iterations_per_epoch(const Setting& setting, double batch);

/// Samples of an average iteration, as a share of the mini-batch: if the number of iterations is rounded up,
/// the last one has fewer.
double full_share(const Setting& setting, double batch);

/// The computation of one of I iterations per epoch on one GPU with unlimited memory.
Seconds serial_time(const Setting& setting, double iterations);

/// Adds the exposed time of reading samples, and the limit of node storage.
void add_input(Projection& projection, const Setting& setting);

/// Adds the limit that needs a finished cost: the memory of the device.
void finish(Projection& projection, const Setting& setting);

}  // namespace paradl
