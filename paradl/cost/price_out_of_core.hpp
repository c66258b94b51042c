#pragma once
#include <span>
#include <vector>

#include "paradl/cost/block_chain.hpp"
#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/price.hpp"

namespace paradl {

/// A plan that may exceed the device's memory, and what was found for it. If it fits the device, its cost is
/// that in core.
class PricedOutOfCore {
 public:
  /// A single stage; `in_core` is its cost with unlimited memory. UsageError if the bandwidth or the memory
  /// of the machine's host is unknown.
  PricedOutOfCore(const Cost& in_core, const Tables& tables, const Plan& plan,
                  std::span<const BlockChain> chains);
  /// A pipeline: each stage is planned separately, for its micro-batches in flight. `plan()` and the
  /// functions after it are then about the stage that needs most memory. Weights stay on the device.
  PricedOutOfCore(const Cost& in_core, const Tables& tables, const Plan& plan);

  const Cost& cost() const { return cost_; }
  const OutOfCorePlan& plan() const { return plan_; }  // not possible: nothing fits
  std::span<const OutOfCoreBlock> blocks() const { return chains_[plan_.chain].blocks; }
  const HostShare& host() const { return host_; }
  /// By cell: the number of layers that are recomputed for each micro-batch. Empty if there are none, or for
  /// a pipeline.
  const std::vector<double>& again() const { return again_; }
  /// What recomputed blocks of stages add to the schedule of a pipeline.
  Seconds delay() const { return delay_; }
  /// Weights would have to leave the device, but the update rate of its host is unknown.
  bool lacks_update_rate() const { return lacks_update_rate_; }
  /// The effect of an uncertain host link.
  HostDoubt doubt() const;
  /// The operations of all its streams.
  std::vector<OutOfCoreEvent> events() const;
  /// Simpler methods, for comparison: swap all blocks, recompute all blocks, swap as few blocks as possible.
  struct Others {
    OutOfCoreClock::Time swap_all, recompute_all, swap_only;
  };
  Others others() const;

 private:
  /// The extra time of a stage for each micro-batch, and its memory.
  struct StageDelay {
    Seconds again, stall;
    Memory memory;
  };
  void measure_kept(const Tables& t);
  StageDelay plan_stage(const Tables& t, std::size_t kind, const Memory& in_core);
  void keep_all();
  /// Finds the fastest plan. If the host is too small for any, finds the fastest with the least host memory
  /// that allows one; the verdict then names the host. If there is still none, the verdict names the device.
  void find_plan();
  void fill(const Tables& t, const BlockChain& from, OutOfCoreChain& to, Bytes& aside) const;
  void fill_all(const Tables& t, std::span<const BlockChain> chains, const Memory& in_core);
  void set_rooms(const Memory& in_core, std::size_t chain);
  void set_limits(const Cost& in_core, const Plan& plan, Seconds exchange);
  Memory resident(const Memory& in_core, std::size_t chain, WeightHome home) const;
  Memory least_memory(const Memory& in_core, bool anywhere) const;
  void show_recomputed(const Tables& t, const Plan& plan, const BlockChain& chain);
  void show_stalls(const Plan& plan);

  const Setting& setting_;
  Cost cost_;
  OutOfCorePlan plan_;
  OutOfCoreLimits limits_;
  HostShare host_;
  bool lacks_update_rate_ = false;
  std::vector<OutOfCoreChain> chains_;
  std::vector<Bytes> aside_;  // by chain: tensors that skip blocks, or that several blocks need
  std::vector<Bytes> kept_;   // by cell: of one layer
  std::vector<double> again_;
  Seconds delay_;
};

}  // namespace paradl
