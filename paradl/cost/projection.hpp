#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "paradl/cost/cost.hpp"
#include "paradl/cost/input.hpp"
#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {

/// How a mini-batch is given: whole (strong scaling), or per GPU or node (weak scaling).
struct BatchRule {
  enum class Per { whole, gpu, node } per = Per::gpu;
  double value = 1;
  friend bool operator==(const BatchRule&, const BatchRule&) = default;
  double samples(double gpus, const Machine& machine) const;  // as asked for: perhaps not a whole number
  double batch(double gpus, const Machine& machine) const;    // at least that many, and whole
};

/// The bounds that were looked at: one for each axis, then micro-batches and memory.
struct Limits {
  /// One an axis, micro-batches, stages twice, sequence twice, axes together, allreduce, storage, memory,
  /// host twice.
  std::array<Limit, most_axes + 11> list{};
  std::size_t size = 0;
  void add(const Limit& limit) { list[size++] = limit; }
  bool hold() const;
  std::span<const Limit> all() const { return {list.data(), size}; }
};

/// What a strategy on a grid would give. Times are of one iteration.
struct Projection {
  const StrategyName* strategy = nullptr;
  Mesh mesh;
  double gpus = 1, batch = 1;
  double samples = 1;             // D: per epoch
  double iterations = 1;          // I: per epoch
  std::optional<Cost> cost;  // none where a grid breaks a bound and its cost has no meaning
  Limits limits;
  std::optional<InputCost> input;  // where it was asked for; its exposed part is in `cost`
  /// How the exchange of gradients was found, where an algorithm was asked for: by following its messages, or
  /// by its closed form if some group has too many of them.
  std::optional<NetworkFidelity> allreduce = {};
  std::string chosen;   // what `auto` takes for the gradients: "ring, Simple"
  std::string refused;  // why the allreduce that was asked for cannot sum them, in its own words
  Seconds serial;       // one GPU, the same samples, memory set aside
  /// The iteration beside other jobs, where the system says how they slow its network. Never mixed with
  /// `cost`.
  struct Band {
    Seconds low, typical, high;
  };
  std::optional<Band> congested;
  /// Blocks of layers by what becomes of their activations, where training is out of core.
  struct OutOfCore {
    int kept = 0, swapped = 0, recomputed = 0;
    WeightHome weights = WeightHome::device;
    Bytes host;                 // memory that a node's host gives
    std::vector<double> again;  // by cell: layers that run forward once more; empty if none, or in stages
    HostDoubt doubt = {};
    bool plans() const { return swapped + recomputed > 0 || weights != WeightHome::device; }
  };
  std::optional<OutOfCore> out_of_core = {};

  bool feasible() const { return cost && limits.hold(); }
  /// Whether `cost` has times: of a plan out of core that is not there, they would be those in core.
  bool timed() const { return cost && (!out_of_core || feasible()); }
  Seconds iteration() const { return cost->iteration(); }
  Seconds epoch() const { return iterations * iteration(); }
  double samples_per_s() const { return samples / epoch().base(); }
  double efficiency() const { return serial / (gpus * iteration()); }
};

/// Joules that the cables between the GPUs of a projection draw in one iteration: idle all the time, at their
/// peak while exchanges run, hidden ones too. Nothing if no level says what its cables draw.
std::optional<double> network_joules(const Projection& projection, const Machine& machine);

/// D/B, rounded up if the training says so.
double iterations_per_epoch(const Setting& setting, double batch);

/// Computation of one of I iterations per epoch on one GPU that has all the memory it needs.
Seconds serial_time(const Setting& setting, double iterations);

/// Reads the samples: adds what of it is exposed, and the bound of node storage.
void add_input(Projection& projection, const Setting& setting);

/// Adds the bound that a finished cost implies: memory against the device.
void finish(Projection& projection, const Setting& setting);

}  // namespace paradl
